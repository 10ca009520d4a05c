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
  await page.locator("[data-agent=agent_coder]").waitFor();
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

/** A tab in an empty conversation of a new project. */
async function conversation() {
  const project = await world.project();
  const session = await world.ask("POST", `/my/projects/${project.id}/chat/sessions`, {});
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}/s/${session.id}`);
  await page.getByText("What shall the team do?").waitFor();
  return { project, session, page };
}

test("what is being written can be stopped", async () => {
  const { page } = await conversation();
  await say(page, "HOLD it", "coder");
  await page.locator("[data-draft]").waitFor();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.locator("[data-message=assistant]").getByText("cancelled").first().waitFor();
  await until(async () => (await page.locator("[data-draft]").count()) === 0, "the draft is gone");
  await until(async () => (await page.getByRole("button", { name: "Stop", exact: true }).count()) === 0, "nothing is left to stop");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("Cyrillic, emoji and right-to-left text arrive as they are", async () => {
  const { page } = await conversation();
  const said = "Артель мастеров 🛠️👩🏽‍💻 и שלום עולם مرحبا 𝒳 e\u0301";
  await say(page, said, "coder");
  const answer = page.locator("[data-message=assistant]");
  await answer.getByText(`done: ${said}`).waitFor();
  const hebrew = "שלום, זו הודעה מימין לשמאל";
  await say(page, hebrew, "coder");
  const own = page.locator("[data-message=user]").getByText(hebrew);
  await own.waitFor();
  assert.equal(await own.evaluate((element) => getComputedStyle(element).direction), "rtl");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a message of a megabyte is sent, kept whole, and the page stays quick", async () => {
  const { page, project, session } = await conversation();
  const long = `${"слово word ".repeat(58_000)}THE END`;
  assert.ok(new TextEncoder().encode(long).length > 900_000);
  await say(page, long, "coder");
  await page.locator("[data-message=assistant]").waitFor();
  await page.getByRole("button", { name: "Show more" }).first().waitFor();
  const { messages } = await world.ask("GET", `/my/projects/${project.id}/chat/sessions/${session.id}/messages`);
  assert.equal(messages[0].content, long);
  const began = Date.now();
  while (await page.locator("[data-message=user]").getByRole("button", { name: "Show more" }).count()) await page.locator("[data-message=user]").getByRole("button", { name: "Show more" }).click();
  await page.locator("[data-message=user]").getByText("THE END").waitFor();
  assert.ok(Date.now() - began < 60_000, "it took too long to show all of it");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("an answer full of hostile Markdown runs nothing and asks nobody for anything", async () => {
  const { page } = await conversation();
  const asked = [];
  page.context().on("request", (request) => asked.push(request.url()));
  await page.context().route("**/*", (route) => (route.request().url().startsWith(world.url) ? route.continue() : route.abort()));
  await say(page, "HOSTILE", "coder");
  const answer = page.locator("[data-message=assistant]");
  await answer.getByText("The end of it.").waitFor();
  await page.evaluate(() => new Promise((done) => requestIdleCallback(done)));
  assert.deepEqual(page.strangers, []);
  assert.deepEqual(asked.filter((url) => !url.startsWith(world.url)), []);
  assert.doesNotMatch(await page.title(), /owned/);
  assert.equal(await answer.locator("img, script, iframe, style, object, svg, link, base, embed, video, audio").count(), 0);
  const links = await answer.locator("a").evaluateAll((all) => all.map((link) => [link.getAttribute("href"), link.rel, link.target]));
  for (const [to, rel, target] of links) {
    assert.match(to, /^(https?:\/\/|mailto:|#\/)/);
    if (!to.startsWith("#")) assert.ok(rel.includes("noopener") && rel.includes("noreferrer") && target === "_blank", to);
  }
  assert.ok(links.some(([to]) => to === "https://example.org/fine"));
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("conversations are found, renamed, pinned, kept as a file and deleted", async () => {
  const { page, project } = await conversation();
  await say(page, "the first one", "coder");
  await page.locator("[data-message=assistant]").getByText("done: the first one").waitFor();
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.getByText("What shall the team do?").waitFor();
  await say(page, "the second one", "coder");
  await page.locator("[data-message=assistant]").getByText("done: the second one").waitFor();
  const list = page.getByRole("complementary", { name: "Conversations" });
  await list.getByRole("button", { name: "More about the first one" }).click();
  await page.getByRole("textbox", { name: "Title", exact: true }).fill("Renamed");
  await page.getByRole("button", { name: "Rename" }).click();
  await list.getByRole("button", { name: "More about Renamed" }).click();
  await page.getByRole("button", { name: "Pin" }).click();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export as Markdown" }).click();
  const file = await saved;
  assert.equal(file.suggestedFilename(), "Renamed.md");
  const { readFileSync } = await import("node:fs");
  const text = readFileSync(await file.path(), "utf8");
  assert.match(text, /^# Renamed/);
  assert.match(text, /## You[^]*the first one[^]*## coder[^]*done: the first one/);
  await page.keyboard.press("Escape");
  assert.match(await list.locator("a").first().innerText(), /★ Renamed/);
  await list.getByRole("searchbox").fill("second");
  await until(async () => (await list.locator("a").count()) === 1, "one is found");
  await list.getByRole("searchbox").fill("");
  await list.getByRole("button", { name: "More about Renamed" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await until(async () => (await world.ask("GET", `/my/projects/${project.id}/chat/sessions`)).total === 1, "it is gone");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
