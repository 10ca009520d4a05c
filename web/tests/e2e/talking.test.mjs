// Logging in, and a conversation: streamed, stopped, in every script, and safe from what a model writes.
import assert from "node:assert/strict";
import { measured, PASSWORD, say, until } from "../harness.mjs";
import { browser, stage, test, world } from "../stage.mjs";

stage();

test("log in with name and password, make a project, and see a message stream", async () => {
  const page = await browser.tab(world, { logIn: false, excused: /401/ });
  await page.goto(world.url);
  await page.getByLabel("Name").fill("ada");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").waitFor();
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
});

test("an answer is seen as it is written, and the whole replaces it", async () => {
  const project = await world.project();
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}`);
  await page.getByRole("button", { name: "Begin a conversation" }).click();
  await say(page, "STREAM please", "coder");
  const draft = page.locator("[data-draft]");
  await draft.filter({ hasText: "one two three", hasNotText: "done streaming" }).waitFor();
  await page.locator("[data-message=assistant]").getByText("done streaming").waitFor();
  await until(async () => (await draft.count()) === 0, "the draft is gone");
  assert.equal(await page.locator("[data-message=assistant]").count(), 1);
  await until(async () => /[1-9]\d* tokens/.test(await page.locator("[data-spent]").innerText()), "tokens are shown");
});

/** A tab in an empty conversation of a new project. */
async function conversation(options = {}) {
  const project = await world.project();
  const session = await world.ask("POST", `/my/projects/${project.id}/chat/sessions`, {});
  const page = await browser.tab(world, options);
  await page.goto(`${world.url}/#/p/${project.id}/s/${session.id}`);
  await page.getByText("What shall the team do?").waitFor();
  return { project, session, page };
}

test("the newest stays in sight whatever grows and shrinks around it, until one goes up", async () => {
  const { page, project, session } = await conversation();
  // Something above the list comes and goes all the time, as a banner does when the line is cut.
  await page.locator("main").evaluate((main) => {
    const banner = document.createElement("div");
    main.before(banner);
    window.shaking = setInterval(() => (banner.style.height = banner.style.height === "45px" ? "0px" : "45px"), 20);
  });
  const talk = (content, target_agent) => world.ask("POST", `/my/projects/${project.id}/chat/${session.id}/message`, { content, target_agent });
  for (let at = 1; at <= 6; at += 1) await Promise.all(["coder", "analyst", "writer"].map((agent) => talk(`number ${at} `.repeat((at * 7) % 30), agent)));
  const list = page.getByRole("log", { name: "Messages" });
  const below = () => list.evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop);
  const newest = page.getByRole("button", { name: "Newest" });
  await talk("the last one", "coder");
  await list.getByText("done: the last one").waitFor();
  await until(async () => (await below()) < 5, "it is at its end");
  assert.equal(await newest.count(), 0);
  await page.evaluate(() => clearInterval(window.shaking));
  await list.hover();
  await page.mouse.wheel(0, -900);
  await newest.waitFor();
  await talk("one more", "coder");
  assert.ok((await below()) > 200, "who went up is left where they are");
  await newest.click();
  await list.getByText("done: one more").waitFor();
});

test("what failed is sent again, to whom it went", async () => {
  const { page, project, session } = await conversation();
  await say(page, "FAIL, please", "analyst");
  await page.getByRole("button", { name: "Send again" }).click();
  await until(async () => (await page.locator("[data-message=user]").count()) === 2, "it is said twice");
  await until(async () => (await page.getByRole("button", { name: "Send again" }).count()) === 2, "and fails twice");
  const { messages } = await world.ask("GET", `/my/projects/${project.id}/chat/sessions/${session.id}/messages`);
  const asked = messages.filter((message) => message.role === "user");
  assert.deepEqual(asked.map((message) => message.content), ["FAIL, please", "FAIL, please"]);
  assert.equal(asked[0].agent_id, asked[1].agent_id);
});

test("what is being written can be stopped", async () => {
  const { page } = await conversation();
  await say(page, "HOLD it", "coder");
  await page.locator("[data-draft]").waitFor();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.locator("[data-message=assistant]").getByText("cancelled").first().waitFor();
  await until(async () => (await page.locator("[data-draft]").count()) === 0, "the draft is gone");
  await until(async () => (await page.getByRole("button", { name: "Stop", exact: true }).count()) === 0, "nothing is left to stop");
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
  const shown = await measured(page, "a megabyte: all of it shown", async () => {
    const more = page.locator("[data-message=user]").getByRole("button", { name: "Show more" });
    while (await more.count()) await more.click();
    await page.locator("[data-message=user]").getByText("THE END").waitFor();
  });
  assert.ok(shown.task < 60, `it took ${shown.task} s`);
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
  assert.deepEqual(asked.filter((url) => !url.startsWith(world.url)), []);
  assert.doesNotMatch(await page.title(), /owned/);
  assert.equal(await answer.locator("img, script, iframe, style, object, svg, link, base, embed, video, audio").count(), 0);
  const links = await answer.locator("a").evaluateAll((all) => all.map((link) => [link.getAttribute("href"), link.rel, link.target]));
  for (const [to, rel, target] of links) {
    assert.match(to, /^(https?:\/\/|mailto:|#\/)/);
    if (!to.startsWith("#")) assert.ok(rel.includes("noopener") && rel.includes("noreferrer") && target === "_blank", to);
  }
  assert.ok(links.some(([to]) => to === "https://example.org/fine"));
});

test("another project is opened out of a conversation, and what was typed is kept", async () => {
  const { page, session } = await conversation();
  const other = await world.project("Another shop");
  await page.reload();
  await page.getByRole("textbox", { name: "Message" }).fill("half a thought");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find" }).fill("project another shop");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Begin a conversation" }).waitFor();
  assert.match(page.url(), new RegExp(other.id));
  await page.goBack();
  await page.getByText("What shall the team do?").waitFor();
  assert.match(page.url(), new RegExp(session.id));
  assert.equal(await page.getByRole("textbox", { name: "Message" }).inputValue(), "half a thought");
});

test("on a narrow page conversations are listed and chosen, and the account is at hand", async () => {
  const project = await world.project();
  const titles = ["Doors", "Hinges", "Locks", "Keys"];
  for (const title of titles) await world.ask("POST", `/my/projects/${project.id}/chat/sessions`, { title });
  const page = await browser.tab(world, { viewport: { width: 375, height: 740 }, hasTouch: true });
  await page.goto(`${world.url}/#/p/${project.id}`);
  await page.getByText("What shall the team do?").waitFor();
  await page.getByRole("button", { name: "☰ Conversations" }).tap();
  for (const title of titles) await page.getByRole("link", { name: title }).waitFor();
  await page.getByRole("link", { name: "Hinges" }).tap();
  await page.getByRole("heading", { name: "Hinges" }).waitFor();
  await page.getByRole("button", { name: "Team", exact: true }).tap();
  await page.locator("[data-agent=coder]").waitFor();
  await page.getByRole("button", { name: "Account and colours" }).tap();
  await page.getByRole("button", { name: "Log out" }).tap();
  await page.getByRole("button", { name: "Log in" }).waitFor();
});

test("who has to log in again finds what was said but not sent", async () => {
  const { page, session } = await conversation({ excused: /401/ });
  await page.evaluate(() => localStorage.setItem("artel.token", "none that the server knows"));
  await page.getByRole("textbox", { name: "Message" }).fill("half a thought");
  await page.reload();
  await page.getByText("Your log-in has ended").waitFor();
  await page.getByLabel("Name").fill("ada");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("What shall the team do?").waitFor();
  assert.match(page.url(), new RegExp(session.id));
  assert.equal(await page.getByRole("textbox", { name: "Message" }).inputValue(), "half a thought");
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
});
