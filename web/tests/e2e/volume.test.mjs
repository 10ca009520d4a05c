// A great deal of everything: the page stays usable, and holds only what can be seen.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addProgram } from "../furnished.mjs";
import { Browser, World, say, until } from "../harness.mjs";

/** Figures are printed to be read; what is asserted must also hold on a machine that has much else to do. */
const BUSY = 10;

let world, browser;
before(async () => {
  world = await World.start();
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await world?.stop();
});

/** Seconds of scripting, layout and all work of the page's thread while something is done. */
async function measured(page, what, work) {
  page.cdp ??= await page.context().newCDPSession(page);
  await page.cdp.send("Performance.enable");
  const read = async () => Object.fromEntries((await page.cdp.send("Performance.getMetrics")).metrics.map((it) => [it.name, it.value]));
  const start = await read();
  const began = Date.now();
  await work();
  const end = await read();
  const took = { script: end.ScriptDuration - start.ScriptDuration, layout: end.LayoutDuration + end.RecalcStyleDuration - start.LayoutDuration - start.RecalcStyleDuration, task: end.TaskDuration - start.TaskDuration, wall: (Date.now() - began) / 1000 };
  console.log(`# ${what}: ${Object.entries(took).map(([name, value]) => `${name} ${value.toFixed(2)} s`).join(", ")}, heap ${(end.JSHeapUsedSize / 2 ** 20).toFixed(0)} MiB, ${end.Nodes} nodes`);
  return took;
}

/** Goes through a scrolling box from end to end, and gives the longest wait for a frame, in milliseconds. */
function scrollThrough(page, selector, steps) {
  return page.locator(selector).first().evaluate(async (box, steps) => {
    let longest = 0;
    for (let at = 0; at <= steps; at += 1) {
      const began = performance.now();
      box.scrollTop = ((box.scrollHeight - box.clientHeight) * at) / steps;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      longest = Math.max(longest, performance.now() - began);
    }
    return longest;
  }, steps);
}

test("10,000 messages in a session", { timeout: 600_000 }, async () => {
  const project = await world.project();
  const base = `/my/projects/${project.id}/chat`;
  const session = await world.ask("POST", `${base}/sessions`, {});
  for (let at = 0; at < 5000; at += 1) await world.ask("POST", `${base}/${session.id}/message`, { content: `Message **${at}** ${"with some words ".repeat(at % 12)}`, target_agent: "coder" });
  const page = await browser.tab(world);
  const opened = await measured(page, "10,000 messages: opened", async () => {
    await page.goto(`${world.url}/#/p/${project.id}/s/${session.id}`);
    await page.locator("[data-message=assistant]").getByText("4999").first().waitFor();
  });
  assert.ok(opened.script < 3 * BUSY, `scripting took ${opened.script} s`);
  const all = await measured(page, "10,000 messages: all of them loaded by scrolling up", async () => {
    const box = page.getByRole("log", { name: "Messages" });
    await until(
      async () => {
        await box.evaluate((it) => (it.scrollTop = 0));
        return /"0"/.test(JSON.stringify(await page.locator("[data-message=user] strong").allInnerTexts()));
      },
      "the first message is there",
      240_000,
    );
  });
  assert.ok(all.script < 30 * BUSY, `scripting took ${all.script} s`);
  assert.ok((await page.locator("[data-message]").count()) < 60, "only what can be seen is there");
  const frame = await scrollThrough(page, "[role=log]", 60);
  console.log(`# 10,000 messages: longest wait for a frame while scrolling ${frame.toFixed(0)} ms`);
  assert.ok(frame < 1000 * BUSY, `a frame took ${frame} ms`);
  const streamed = await measured(page, "10,000 messages: one more is sent, streamed and answered", async () => {
    await say(page, "STREAM", "coder");
    await page.locator("[data-message=assistant]").getByText("done streaming").waitFor();
  });
  assert.ok(streamed.script < 3 * BUSY, `scripting took ${streamed.script} s`);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("500 tasks in a plan, drawn and run", { timeout: 600_000 }, async () => {
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
  assert.ok(drawn.script < 3 * BUSY, `scripting took ${drawn.script} s`);
  assert.ok((await page.locator("[data-task]").count()) < 250, "only what can be seen is there");
  await page.getByRole("button", { name: "Let it run" }).click();
  await page.getByRole("button", { name: "Approve" }).click();
  const ran = await measured(page, "500 tasks: run to the end", async () => {
    await until(async () => (await page.locator("[data-plan-status=completed]").count()) === 1, "it is done", 200_000);
  });
  assert.ok(ran.script < ran.wall, "the page keeps up");
  await page.getByRole("button", { name: "Timeline" }).click();
  await page.getByText("at the same time").waitFor();
  const frame = await scrollThrough(page, "[aria-label=Timeline]", 40);
  assert.ok(frame < 1000 * BUSY, `a frame took ${frame} ms`);
  await page.getByRole("button", { name: "List" }).click();
  await page.getByRole("list", { name: "Tasks by level" }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("100,000 lines of a log", { timeout: 600_000 }, async () => {
  const project = await world.project();
  const smith = await addProgram(world, project);
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}/agents/${smith.id}`);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("log", { name: "Log" }).getByText("smith: warming up").waitFor();
  const came = await measured(page, "100,000 lines: written by a program and followed", async () => {
    await world.ask("POST", `/agents/${smith.id}/message?wait=120`, { message: "flood" });
    await page.getByRole("log", { name: "Log" }).getByText("flood line 100000").waitFor({ timeout: 120_000 });
  });
  const counted = Number(await page.locator("[data-log-count]").getAttribute("data-log-count"));
  console.log(`# 100,000 lines: ${counted} arrived, ${(await page.locator("[data-log-count]").innerText()).replace(/\s+/g, " ")}`);
  assert.ok(came.script < 30 * BUSY, `scripting took ${came.script} s`);
  assert.deepEqual(page.faults, []);
  await page.context().close();

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
  assert.ok(read.script < 8 * BUSY, `scripting took ${read.script} s`);
  assert.ok((await again.locator("[role=log] .line").count()) < 120, "only what can be seen is there");
  const searched = await measured(again, "100,000 lines: searched", async () => {
    await again.getByRole("searchbox", { name: "Search the log" }).fill("line 77777");
    await until(async () => (await again.locator("[role=log] .line").count()) === 1, "it is found");
  });
  assert.ok(searched.script < 3 * BUSY, `scripting took ${searched.script} s`);
  await again.getByRole("searchbox", { name: "Search the log" }).fill("");
  const frame = await scrollThrough(again, "[role=log]", 60);
  console.log(`# 100,000 lines: longest wait for a frame while scrolling ${frame.toFixed(0)} ms`);
  assert.ok(frame < 500 * BUSY, `a frame took ${frame} ms`);
  assert.deepEqual(again.faults, []);
  await again.context().close();
});
