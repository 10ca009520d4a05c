// The line to the server: cut in the middle, taken up again, with nothing missed and nothing shown twice.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ARTEL, ended, freePort, say, until } from "../harness.mjs";
import { browser, stage, test, world } from "../stage.mjs";
import { serve } from "../serving.mjs";

stage();

/** The network's own complaints while there is no server are not the page's. */
const cut = { excused: /Failed to load resource|ERR_/ };

test("the server is killed in the middle of an answer and comes back, and the page catches up", async () => {
  const project = await world.project();
  const page = await browser.tab(world, cut);
  await page.goto(`${world.url}/#/p/${project.id}`);
  await page.getByRole("button", { name: "Begin a conversation" }).click();
  await say(page, "before the cut", "coder");
  await page.locator("[data-message=assistant]").getByText("done: before the cut").waitFor();
  await say(page, "HOLD this", "coder");
  await page.locator("[data-draft]").getByText("a b").waitFor();
  await world.kill();
  await page.locator("[data-banner=reconnecting]").waitFor();
  // Said while there is nobody to hear it: it is kept, and sent as soon as there is.
  await say(page, "said in the dark", "writer");
  await page.getByRole("alert").getByText("cannot be reached").waitFor();
  await world.up();
  // Others go on meanwhile: before the page is back, something is said elsewhere.
  const session = /s\/([^/]+)$/.exec(page.url())[1];
  await world.ask("POST", `/my/projects/${project.id}/chat/${session}/message`, { content: "said elsewhere", target_agent: "analyst" });
  await until(async () => (await page.locator("[data-banner=reconnecting]").count()) === 0, "the banner is gone");
  await page.locator("[data-message=assistant]").getByText("done: said elsewhere").waitFor();
  await page.locator("[data-message=assistant]").getByText("done: said in the dark").waitFor();
  const { messages } = await world.ask("GET", `/my/projects/${project.id}/chat/sessions/${session}/messages`);
  await until(async () => (await page.locator("[data-message]").count()) === messages.length, "as many messages as the server has");
  const shown = await page.locator("[data-message=user]").allInnerTexts();
  for (const said of ["before the cut", "HOLD this", "said in the dark", "said elsewhere"]) {
    assert.equal(shown.filter((text) => text.includes(said)).length, 1, `${said}: once`);
  }
  assert.equal(await page.locator("[data-draft]").count(), 0, "nothing is left of the answer that broke off");
});

test("a stream that is cut again and again misses no event and doubles none", async () => {
  const project = await world.project();
  const session = await world.ask("POST", `/my/projects/${project.id}/chat/sessions`, {});
  const page = await browser.tab(world, cut);
  await page.goto(`${world.url}/#/p/${project.id}/s/${session.id}`);
  await page.getByText("What shall the team do?").waitFor();
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  for (let at = 0; at < 12; at += 1) {
    const offline = at % 3 === 1;
    if (offline) await cdp.send("Network.emulateNetworkConditions", { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
    await world.ask("POST", `/my/projects/${project.id}/chat/${session.id}/message`, { content: `number ${at}.`, target_agent: "coder" });
    if (offline) await cdp.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
    if (at % 4 === 3) {
      await world.kill();
      await world.up();
    }
  }
  await until(async () => (await page.locator("[data-message]").count()) > 0, "messages are there");
  await page.locator("[data-message=assistant]").getByText("done: number 11.").waitFor();
  const seen = await page.evaluate(async () => {
    // Only what can be seen is there: go through all of it.
    const box = document.querySelector("[role=log]");
    const found = new Map();
    for (let top = 0; top <= box.scrollHeight; top += 200) {
      box.scrollTop = top;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      for (const message of box.querySelectorAll("[data-message]")) found.set(message.dataset.id, message.querySelector(".markdown").textContent);
    }
    return [...found.values()];
  });
  for (let at = 0; at < 12; at += 1) {
    assert.equal(seen.filter((text) => text.includes(`done: number ${at}.`)).length, 1, `answer ${at} once`);
    assert.equal(seen.filter((text) => text.includes(`number ${at}.`) && !text.includes("done:")).length, 1, `message ${at} once`);
  }
});

test("what cannot be read because the server is away is read once it is back, without a click", async () => {
  const project = await world.project();
  const session = await world.ask("POST", `/my/projects/${project.id}/chat/sessions`, {});
  await world.ask("POST", `/my/projects/${project.id}/chat/${session.id}/message`, { content: "hello", target_agent: "coder" });
  const page = await browser.tab(world, cut);
  // First nothing can be asked, then all but the messages, as when a server is stopped in between.
  let away = /\/my\//;
  await page.route(/\/my\//, (route) => (away.test(route.request().url()) ? route.abort() : route.continue()));
  await page.goto(`${world.url}/#/p/${project.id}/s/${session.id}`);
  await page.getByRole("alert").getByText("cannot be reached").waitFor();
  away = /\/messages/;
  await page.getByRole("log").or(page.getByRole("alert").getByText("cannot be reached")).waitFor();
  await page.getByRole("heading", { name: "hello" }).waitFor();
  away = /nothing/;
  await page.locator("[data-message=assistant]").getByText("done: hello").waitFor();
});

test("the link of `artel up` logs in once, and leaves no trace in the address", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "artel-up-"));
  const port = await freePort();
  const data = join(folder, "data");
  const up = spawn(ARTEL, ["up", folder, "--no-open", "--listen", `127.0.0.1:${port}`, "--data-dir", data], {
    env: { PATH: process.env.PATH, HOME: folder, USER: "grace", ARTEL_EMBEDDINGS: "lexical" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  up.stdout.on("data", (piece) => (said += piece));
  up.stderr.on("data", (piece) => (said += piece));
  let front;
  // After the tabs are closed, which would complain otherwise.
  context.after(async () => {
    await ended(up, "SIGTERM");
    await front?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await until(() => /#ticket=\S+/.test(said), "it prints a link");
  const ticket = /#ticket=\S+/.exec(said)[0];
  front = await serve(`http://127.0.0.1:${port}`);
  const page = await browser.tab({ ...world, url: front.url }, { logIn: false });
  await page.goto(`${front.url}/${ticket}`);
  await page.getByRole("heading", { name: "Projects" }).waitFor();
  assert.doesNotMatch(page.url(), /ticket/);
  await page.getByText("What agents can be here").waitFor();
  await page.getByText("claude-code").first().waitFor();
  await page.locator("main [data-item]").first().click();
  await page.getByRole("button", { name: "Begin a conversation" }).click();
  await page.getByRole("button", { name: "Describe this project" }).click();
  await page.getByRole("combobox", { name: "To", exact: true }).selectOption({ label: "agent_coder" });
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("This is a scripted answer").first().waitFor();
  const second = await browser.tab({ ...world, url: front.url }, { logIn: false, excused: /401/ });
  await second.goto(`${front.url}/${ticket}`);
  await second.getByRole("alert").getByText("works once").waitFor();
});
