// Logging in, and a conversation: streamed, stopped, in every script, and safe from what a model writes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, PASSWORD, World, say, until } from "../harness.mjs";

let world, browser;
before(async () => {
  world = await World.start();
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await world?.stop();
});

test("log in with name and password, make a project, and see a message stream", async () => {
  const page = await browser.tab(world, { logIn: false });
  await page.goto(world.url);
  await page.getByLabel("Name").fill("ada");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").waitFor();
  page.faults.length = 0;
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Make the first one" }).click();
  await page.getByLabel("Name").fill("First shop");
  await page.getByRole("button", { name: "Make it" }).click();
  await page.getByRole("button", { name: "Begin a conversation" }).click();
  await page.getByText("agent_coder").first().waitFor();
  await say(page, "Describe this project", "agent_coder");
  await page.getByText("This is a scripted answer").first().waitFor();
  await page.getByText("a script, no model").waitFor();
  assert.deepEqual(page.faults, []);
  assert.deepEqual(page.strangers, []);
  await page.context().close();
});

test("an answer is seen as it is written, and the whole replaces it", async () => {
  const project = await world.project();
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}`);
  await page.getByRole("button", { name: "Begin a conversation" }).click();
  await say(page, "STREAM please", "coder");
  const draft = page.locator("[data-draft]");
  await draft.getByText("one two three").waitFor();
  assert.doesNotMatch(await draft.innerText(), /done streaming/);
  await page.locator("[data-message=assistant]").getByText("done streaming").waitFor();
  await until(async () => (await draft.count()) === 0, "the draft is gone");
  assert.equal(await page.locator("[data-message=assistant]").count(), 1);
  await until(async () => /[1-9]\d* tokens/.test(await page.locator("[data-spent]").innerText()), "tokens are shown");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
