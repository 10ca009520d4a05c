// Agents and what they remember: made, changed, started, read and forgotten.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { addProgram } from "../furnished.mjs";
import { until, World } from "../harness.mjs";
import { browser, stage, test, world } from "../stage.mjs";

stage();

test("an agent is made, changed, set aside and deleted", async () => {
  const project = await world.project();
  const page = await browser.tab(world, { excused: /409|422/ });
  await page.goto(`${world.url}/#/p/${project.id}/agents`);
  await page.getByRole("link", { name: "New agent" }).click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("reviewer");
  await page.getByRole("textbox", { name: /^Prompt/ }).fill("You find mistakes.");
  // It begins with one that can answer here, and says so of one that cannot.
  const model = page.getByRole("combobox", { name: /^Model/ });
  await until(async () => /^scripted\//.test(await model.inputValue()), "a model that is there");
  await model.fill("openai/gpt-5");
  await page.locator("[data-unready]").waitFor();
  await model.fill("scripted/worker");
  assert.ok((await page.locator("#models option").evaluateAll((all) => all.map((it) => it.value))).includes("scripted/worker"));
  await page.getByRole("textbox", { name: /^Capabilities/ }).fill("review_code, explain_code");
  await page.getByRole("checkbox", { name: /ask_user/ }).check();
  await page.getByRole("button", { name: "Add to the team" }).click();
  await page.getByRole("heading", { name: "reviewer" }).waitFor();
  const find = async () => (await world.ask("GET", `/my/projects/${project.id}/agents`)).agents.find((agent) => agent.name === "reviewer");
  const made = await find();
  assert.deepEqual(made.config.metadata.capabilities, ["review_code", "explain_code"]);
  assert.deepEqual(made.config.tools, ["ask_user"]);
  // A field that is not valid is named by the server, and nothing typed is lost.
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("coder");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("reviewer");
  await page.getByRole("textbox", { name: /^Prompt/ }).fill("You find mistakes that matter.");
  await page.getByRole("button", { name: "Save" }).click();
  await until(async () => (await find()).config.system_prompt === "You find mistakes that matter.", "it is saved");
  await page.getByRole("button", { name: "Take no more tasks" }).click();
  await page.getByRole("button", { name: "Take tasks again" }).click();
  await page.getByRole("button", { name: "Take no more tasks" }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await page.getByRole("heading", { name: "Agents" }).waitFor();
  await until(async () => (await find()) === undefined, "it is gone");
});

test("a program is started, followed in its log, searched and stopped", async () => {
  const project = await world.project();
  const smith = await addProgram(world, project);
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}/agents/${smith.id}`);
  await page.getByText("Nothing was written yet").waitFor();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.locator("[data-process=RUNNING]").waitFor();
  const log = page.getByRole("log", { name: "Log" });
  await log.getByText("smith: warming up").waitFor();
  await world.ask("POST", `/agents/${smith.id}/message?wait=25`, { message: "a hinge" });
  await log.getByText("smith: asked: a hinge").waitFor();
  await page.getByRole("combobox", { name: "Stream" }).selectOption("stderr");
  await until(async () => (await log.getByText("__READY__").count()) === 0, "only stderr is left");
  await page.getByRole("searchbox", { name: "Search the log" }).fill("hinge");
  await until(async () => (await log.locator(".line").count()) === 1, "one line is found");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.locator("[data-process=STOPPED]").waitFor();
});

test("a memory is searched, counted, exported, cleared, imported and pruned", async () => {
  const project = await world.project();
  const { agents } = await world.ask("GET", `/my/projects/${project.id}/agents`);
  const base = `/my/projects/${project.id}/agents/${agents[0].id}/context`;
  for (let at = 0; at < 10; at += 1) {
    await world.ask("POST", base, { text: at === 3 ? "The bakery opens at six" : `Parcel ${at} was sent`, success: at !== 4, interaction_type: at % 2 ? "tool_call" : "task_execution" });
  }
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}/memory/${agents[0].id}`);
  const total = (number) => page.locator(`[data-total="${number}"]`).waitFor();
  await total(10);
  await page.getByText("90 %").first().waitFor();
  const newest = page.getByRole("region", { name: "Newest" });
  await newest.locator("[data-memory]").first().getByText("Parcel 9 was sent").waitFor();
  await page.getByRole("combobox", { name: "Type" }).selectOption("tool_call");
  await until(async () => (await newest.locator("[data-memory]").count()) === 5, "five of that type");
  await page.getByRole("combobox", { name: "Type" }).selectOption("");
  await page.getByRole("searchbox").fill("when does the bakery open");
  await page.keyboard.press("Enter");
  await page.locator("[data-memory]").first().getByText("The bakery opens at six").waitFor();
  await page.getByRole("combobox", { name: "Success" }).selectOption("no");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await until(async () => (await page.locator("[data-memory]").count()) === 1, "one failed");
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const file = await (await saved).path();
  assert.equal(JSON.parse(readFileSync(file, "utf8")).total_interactions, 10);
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByRole("button", { name: "Forget everything" }).click();
  await total(0);
  await page.getByLabel("File to import").setInputFiles({ name: "memory.json", mimeType: "application/json", buffer: readFileSync(file) });
  await total(10);
  await page.getByRole("button", { name: "Prune" }).click();
  await page.getByRole("radio", { name: "the oldest part" }).check();
  await page.getByLabel("Percent").fill("50");
  await page.getByRole("button", { name: "Forget it" }).click();
  await total(5);
});

test("the newest memories are listed page by page, and one can be forgotten", async () => {
  const project = await world.project();
  const { agents } = await world.ask("GET", `/my/projects/${project.id}/agents`);
  const base = `/my/projects/${project.id}/agents/${agents[0].id}/context`;
  for (let at = 0; at < 60; at += 1) await world.ask("POST", base, { text: at === 58 ? `Letter 58 came${"\nwith a line".repeat(40)}, and this is its end` : `Letter ${at} came` });
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}/memory/${agents[0].id}`);
  const shown = page.getByRole("region", { name: "Newest" }).locator("[data-memory]");
  await until(async () => (await shown.count()) === 50, "a page of them");
  await page.getByRole("button", { name: "Show more" }).click();
  await until(async () => (await shown.count()) === 60, "all of them");
  await shown.last().getByText("Letter 0 came").waitFor();
  await shown.first().getByRole("button", { name: "Forget this" }).click();
  await page.locator('[data-total="59"]').waitFor();
  await shown.first().getByText("Letter 58 came").waitFor();
  const height = async () => (await shown.first().boundingBox()).height;
  const folded = await height();
  await shown.first().getByRole("button", { name: "Show all" }).click();
  await until(async () => (await height()) > 2 * folded, "a long one is shown whole");
  await shown.first().getByRole("button", { name: "Show less" }).click();
  await until(async () => (await height()) === folded, "and folded again");
});

test("health shows the space, what was spent, and the server", async () => {
  const project = await world.project();
  const session = await world.ask("POST", `/my/projects/${project.id}/chat/sessions`, {});
  await world.ask("POST", `/my/projects/${project.id}/chat/${session.id}/message`, { content: "hello there", target_agent: "coder" });
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}/health`);
  await page.locator("[data-spend=read]").getByText("By agent").waitFor();
  await page.locator("[data-spend=read]").getByText("coder").waitFor();
  await page.getByText("database: sqlite").waitFor();
  await page.getByRole("heading", { name: "Open spaces on this node" }).waitFor();
  await page.getByRole("button", { name: "Reset" }).click();
  await page.getByRole("button", { name: "Stop everything" }).click();
  await page.getByText("The space is opened anew.").waitFor();
});

test("a whole plan is followed within what the server lets one ask in a minute", async (context) => {
  const strict = await World.start({ environment: { ARTEL_RATE_LIMIT_PER_MINUTE: "100" } });
  // After the tab is closed, which would complain otherwise.
  context.after(() => strict.stop());
  const project = await strict.project();
  const page = await browser.tab(strict);
  const asked = [];
  page.on("response", (response) => asked.push([response.status(), new URL(response.url()).pathname]));
  await page.goto(`${strict.url}/#/p/${project.id}`);
  await page.getByRole("button", { name: "Begin a conversation" }).click();
  await page.getByText("What shall the team do?").waitFor();
  const tasks = Array.from({ length: 12 }, (_, at) => ({ name: `t${at}`, agent: ["coder", "analyst", "writer"][at % 3], description: `SLOW ${at}`, depends_on: at < 3 ? [] : [`t${at - 3}`] }));
  const session = /s\/([^/]+)$/.exec(page.url())[1];
  const plan = await strict.ask("POST", `/my/projects/${project.id}/plans`, { request: "Step by step", session_id: session, tasks });
  await strict.ask("POST", `/my/projects/${project.id}/plans/${plan.id}/execute`);
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("[data-plan=completed]").waitFor();
  assert.deepEqual(asked.filter(([status]) => status === 429), []);
  console.log(`# ${asked.length} requests for a plan of twelve tasks`);
});
