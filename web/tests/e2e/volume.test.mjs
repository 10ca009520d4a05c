// A great deal of everything: the page stays usable, and holds only what can be seen.
import assert from "node:assert/strict";
import { addProgram } from "../furnished.mjs";
import { LONG, measured, say, until } from "../harness.mjs";
import { browser, stage, test, world } from "../stage.mjs";

stage();

/** Goes through a scrolling box from end to end. */
async function scrollThrough(page, what, selector) {
  const steps = 60;
  const took = await measured(page, `${what}: scrolled through in ${steps} steps`, () =>
    page.locator(selector).first().evaluate(async (box, steps) => {
      for (let at = 0; at <= steps; at += 1) {
        box.scrollTop = ((box.scrollHeight - box.clientHeight) * at) / steps;
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      }
    }, steps),
  );
  assert.ok(took.task / steps < 0.2, `a step took ${took.task / steps} s`);
}

/**
 * Makes a conversation look longer than it is: before what is really there stand so many messages more. To have them
 * answered by the server one by one would take longer than all other tests together.
 */
async function lengthen(page, session, by) {
  const made = Array.from({ length: by }, (_, at) => ({
    id: `made-${at}`,
    session_id: session.id,
    role: at % 2 ? "assistant" : "user",
    content: `Message **${Math.floor(at / 2)}** ${"with some words ".repeat(Math.floor(at / 2) % 12)}`,
    timestamp: new Date(Date.parse(session.created_at) - (by - at) * 1000).toISOString(),
  }));
  await page.route(`**/chat/sessions/${session.id}`, async (route) => {
    const response = await route.fetch();
    const found = await response.json();
    await route.fulfill({ response, json: { ...found, message_count: found.message_count + by } });
  });
  await page.route(`**/chat/sessions/${session.id}/messages?*`, async (route) => {
    const url = new URL(route.request().url());
    const { limit, offset = 0, before = "" } = Object.fromEntries(url.searchParams);
    if (before.startsWith("made-")) {
      const end = Number(before.slice(5));
      return route.fulfill({ json: { messages: made.slice(Math.max(0, end - limit), end), total: by } });
    }
    if (!before) url.searchParams.set("offset", Math.max(0, offset - by));
    const response = await route.fetch({ url: url.href });
    const { messages, total } = await response.json();
    return route.fulfill({ response, json: { messages: messages.length === 0 ? made.slice(-limit) : messages, total: total + by } });
  });
}

test("10,000 messages in a session", async () => {
  const project = await world.project();
  const base = `/my/projects/${project.id}/chat`;
  const session = await world.ask("POST", `${base}/sessions`, {});
  for (let at = 0; at < 120; at += 1) await world.ask("POST", `${base}/${session.id}/message`, { content: `Truly said **${at}**`, target_agent: "coder" });
  const page = await browser.tab(world);
  await lengthen(page, session, 9760);
  const opened = await measured(page, "10,000 messages: opened", async () => {
    await page.goto(`${world.url}/#/p/${project.id}/s/${session.id}`);
    await page.locator("[data-message=assistant]").getByText("Truly said 119").waitFor();
  });
  assert.ok(opened.script < 2, `scripting took ${opened.script} s`);
  const all = await measured(page, "10,000 messages: all of them loaded by scrolling up", () =>
    until(async () => {
      await page.getByRole("log", { name: "Messages" }).evaluate((box) => (box.scrollTop = 0));
      return (await page.locator("[data-message=user] strong").allInnerTexts()).includes("0") && (await page.locator("[data-id=made-0]").count()) === 1;
    }, "the first message is there", 4 * LONG),
  );
  assert.ok(all.script < 40, `scripting took ${all.script} s`);
  assert.ok((await page.locator("[data-message]").count()) < 60, "only what can be seen is there");
  await scrollThrough(page, "10,000 messages", "[role=log]");
  const streamed = await measured(page, "10,000 messages: one more is sent, streamed and answered", async () => {
    await say(page, "STREAM", "coder");
    await page.locator("[data-message=assistant]").getByText("done streaming").waitFor();
  });
  assert.ok(streamed.script < 2, `scripting took ${streamed.script} s`);
});

test("500 tasks in a plan, drawn and run", async () => {
  const project = await world.project();
  const agents = ["coder", "analyst", "writer"];
  const tasks = Array.from({ length: 500 }, (_, at) => ({
    name: `task-${at}`,
    agent: agents[at % 3],
    description: `Do number ${at}`,
    depends_on: at < 25 ? [] : [...new Set([`task-${at - 25}`, `task-${at - 25 + ((at * 7) % 13)}`])].filter((name) => Number(name.slice(5)) < at - (at % 25)),
  }));
  const plan = await world.ask("POST", `/my/projects/${project.id}/plans`, { request: "A great deal", tasks });
  const page = await browser.tab(world);
  const drawn = await measured(page, "500 tasks: opened and drawn", async () => {
    await page.goto(`${world.url}/#/p/${project.id}/plans/${plan.id}`);
    await page.locator("[data-task=task-0]").waitFor();
  });
  assert.ok(drawn.script < 2, `scripting took ${drawn.script} s`);
  assert.ok((await page.locator("[data-task]").count()) < 250, "only what can be seen is there");
  await page.getByRole("button", { name: "Let it run" }).click();
  await page.getByRole("button", { name: "Approve" }).click();
  const ran = await measured(page, "500 tasks: run to the end", async () => {
    await page.locator("[data-plan-status=completed]").waitFor({ timeout: 4 * LONG });
  });
  assert.ok(ran.script < 5, `scripting took ${ran.script} s`);
  await page.getByRole("button", { name: "Timeline" }).click();
  await page.getByText("at the same time").waitFor();
  await scrollThrough(page, "500 tasks", "[aria-label=Timeline]");
  await page.getByRole("button", { name: "List" }).click();
  await page.getByRole("list", { name: "Tasks by level" }).waitFor();
});

test("100,000 lines of a log", async () => {
  const project = await world.project();
  const smith = await addProgram(world, project);
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}/agents/${smith.id}`);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("log", { name: "Log" }).getByText("smith: warming up").waitFor();
  const came = await measured(page, "100,000 lines: written by a program and followed", async () => {
    await world.ask("POST", `/agents/${smith.id}/message?wait=120`, { message: "flood" });
    await page.getByRole("log", { name: "Log" }).getByText("flood line 100000").waitFor();
  });
  assert.ok(came.script < 10, `scripting took ${came.script} s`);
  // Not all of them can be passed on in time. What is missing is said, and what the server has kept comes all the same.
  const counted = page.locator("[data-log-count]");
  if (Number(await counted.getAttribute("data-log-count")) < 100_000) await counted.getByText("left out in between").waitFor();
  await page.getByRole("searchbox", { name: "Search the log" }).fill("flood line 99");
  await until(async () => Number(/^\d+/.exec(await counted.innerText())[0]) >= 900, "the newest lines are all there");

  // What the server passes on depends on how quick the reader is; the page itself must bear all of them.
  const again = await browser.tab(world);
  const stamp = new Date().toISOString();
  const body = Array.from({ length: 100_000 }, (_, at) => `id: ${at + 1}\nevent: line\ndata: ${JSON.stringify({ number: at + 1, timestamp: stamp, stream: at % 3 ? "stdout" : "stderr", line: `line ${at + 1} ${"x".repeat(at % 60)}` })}\n\n`).join("");
  let served = 0;
  await again.route("**/logs/stream*", (route) => {
    served += 1;
    return served === 1 ? route.fulfill({ contentType: "text/event-stream", body }) : new Promise(() => {});
  });
  const read = await measured(again, "100,000 lines: all at once", async () => {
    await again.goto(`${world.url}/#/p/${project.id}/agents/${smith.id}`);
    await again.getByRole("log", { name: "Log" }).getByText("line 100000", { exact: false }).waitFor();
  });
  assert.equal(await again.locator("[data-log-count]").getAttribute("data-log-count"), "100000");
  assert.ok(read.script < 5, `scripting took ${read.script} s`);
  assert.ok((await again.locator("[role=log] .line").count()) < 120, "only what can be seen is there");
  const searched = await measured(again, "100,000 lines: searched", async () => {
    await again.getByRole("searchbox", { name: "Search the log" }).fill("line 77777");
    await until(async () => (await again.locator("[role=log] .line").count()) === 1, "it is found");
  });
  assert.ok(searched.script < 3, `scripting took ${searched.script} s`);
  await again.getByRole("searchbox", { name: "Search the log" }).fill("");
  await scrollThrough(again, "100,000 lines", "[role=log]");
});
