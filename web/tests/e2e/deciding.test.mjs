// Plans, tools and questions: seen, decided, and decided elsewhere.
import assert from "node:assert/strict";
import { say, until } from "../harness.mjs";
import { browser, stage, test, world } from "../stage.mjs";

// The inbox is of all projects: what one test leaves open, the next would find.
stage({ each: true });

/** Timers are numbered from one on. */
function stopTimers() {
  for (let timer = setTimeout(() => {}); timer > 0; timer -= 1) clearTimeout(timer);
}

/** A plan with a diamond in it, which waits for approval. */
async function waitingPlan(project, words = "look at it") {
  const task = (id, agent, dependencies = []) => ({ name: id, description: `${id}: ${words}`, agent, depends_on: dependencies });
  const tasks = [task("look", "analyst"), task("build", "coder", ["look"]), task("write", "writer", ["look"]), task("check", "analyst", ["build", "write"])];
  const plan = await world.ask("POST", `/my/projects/${project.id}/plans`, { request: "Build the shop", tasks });
  await world.ask("POST", `/my/projects/${project.id}/plans/${plan.id}/execute`);
  return plan;
}

test("a plan is approved from its graph, and seen to its end", async () => {
  const project = await world.project();
  const plan = await waitingPlan(project);
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}/plans`);
  await page.getByText(plan.title).click();
  for (const task of ["look", "build", "write", "check"]) await page.locator(`[data-task=${task}]`).waitFor();
  assert.equal(await page.locator("[data-task].critical").count(), 3, "the longest chain has three tasks");
  // Levels stand from left to right.
  const left = (task) => page.locator(`[data-task=${task}]`).evaluate((element) => element.offsetLeft);
  assert.ok((await left("look")) < (await left("build")) && (await left("build")) === (await left("write")) && (await left("write")) < (await left("check")));
  await page.getByLabel("Comment, or reason to reject").fill("go ahead");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("[data-plan-status=completed]").waitFor();
  assert.equal(await page.locator("[data-task][data-status=completed]").count(), 4);
  await page.getByRole("button", { name: "Timeline" }).click();
  await page.getByText("at the same time").waitFor();
  await page.getByRole("button", { name: /^build\s*, coder/ }).click();
  await page.getByRole("dialog").getByText("done: ").first().waitFor();
  await page.keyboard.press("Escape");
  const approval = (await world.ask("GET", `/my/approvals?project_id=${project.id}`)).approvals[0];
  assert.equal(approval.decided_from, "web");
  assert.equal(approval.comment, "go ahead");
});

test("a plan is changed before it is approved, then rejected with a reason", async () => {
  const project = await world.project();
  const plan = await waitingPlan(project);
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}/plans/${plan.id}`);
  await page.locator("[data-task=write]").click();
  await page.getByRole("dialog").getByRole("combobox", { name: "Agent" }).selectOption("coder");
  await page.getByRole("button", { name: "Give it to coder" }).click();
  await page.locator("[data-task=write]").getByText("coder").waitFor();
  await page.getByRole("button", { name: "Leave it out" }).click();
  await until(async () => (await page.locator("[data-task]").count()) === 3, "three tasks are left");
  await page.getByLabel("Comment, or reason to reject").fill("not today");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.locator("[data-plan-status=rejected]").waitFor();
  const { approvals } = await world.ask("GET", `/my/approvals?project_id=${project.id}&status=rejected`);
  assert.equal(approvals[0].comment, "not today");
});

test("a task that failed is done again", async () => {
  const project = await world.project();
  const tasks = [{ name: "first", description: "FAIL at it", agent: "coder", depends_on: [] }, { name: "second", description: "then", agent: "writer", depends_on: ["first"] }];
  const plan = await world.ask("POST", `/my/projects/${project.id}/plans`, { request: "Fail", tasks });
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}/plans/${plan.id}`);
  await page.getByRole("button", { name: "Let it run" }).click();
  await until(async () => {
    const approve = page.getByRole("button", { name: "Approve" });
    if (await approve.count()) await approve.click({ timeout: 1000 });
    return (await page.locator("[data-plan-status=failed]").count()) === 1;
  }, "it has failed");
  await page.locator("[data-task=second][data-status=skipped]").waitFor();
  await page.locator("[data-task=first]").click();
  await page.getByText("Why it failed").waitFor();
  const attempt = async () => (await world.ask("GET", `/my/projects/${project.id}/plans/${plan.id}`)).tasks[0].attempt_id;
  const first = await attempt();
  await page.getByRole("button", { name: "Do it again" }).click();
  await page.getByText("It is done again.").waitFor();
  await until(async () => (await attempt()) !== first, "it was begun anew");
});

test("a write is rejected after its diff was seen, and the file stays", async () => {
  const project = await world.project();
  const client = await world.client(project.id);
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}`);
  await page.getByRole("button", { name: "Begin a conversation" }).click();
  await page.getByText("connected", { exact: true }).waitFor();
  await say(page, "write it", "hands");
  await page.getByRole("link", { name: /Inbox.*1/ }).click();
  const asked = page.locator("[data-approval=pending]");
  await asked.getByText("the door is green").waitFor();
  assert.match(await asked.locator(".removed").innerText(), /the door is green/);
  assert.match(await asked.locator(".added").innerText(), /the door is red/);
  await asked.getByText(client.folder).waitFor();
  assert.match(await asked.getByRole("timer").innerText(), /\d+ (h|min|s).* left/);
  await asked.getByLabel("Comment, or reason to reject").fill("I like green");
  await asked.getByRole("button", { name: "Reject" }).click();
  await page.locator("[data-approval=rejected]").getByText("I like green").waitFor();
  await page.goBack();
  await page.locator("[data-message=assistant]").waitFor();
  assert.equal(client.read("notes.txt"), "the door is green\n");
});

test("a command is shown word by word with its folder, and approved by the keyboard alone", async () => {
  const project = await world.project();
  const client = await world.client(project.id);
  const page = await browser.tab(world);
  const session = await world.ask("POST", `/my/projects/${project.id}/chat/sessions`, {});
  const answer = world.ask("POST", `/my/projects/${project.id}/chat/${session.id}/message`, { content: "touch", target_agent: "hands" });
  await page.goto(`${world.url}/#/inbox`);
  const asked = page.locator("[data-approval=pending]");
  await asked.waitFor();
  assert.deepEqual(await asked.getByRole("list", { name: "Command" }).getByRole("listitem").allInnerTexts(), ["touch", "a file made"]);
  await asked.getByText(client.folder).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("a");
  await page.locator("[data-approval=approved]").waitFor();
  await answer;
  assert.equal(client.read("a file made"), "");
});

test("what waits is gone through with the keyboard, one after the other", async () => {
  const project = await world.project();
  for (const words of ["first", "second", "third"]) await waitingPlan(project, words);
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/inbox`);
  await page.locator("[data-approval=pending]").nth(2).waitFor();
  const which = /first|second|third/;
  const waiting = (await page.locator("[data-approval=pending]").allInnerTexts()).map((text) => which.exec(text)[0]);
  for (const left of [2, 1, 0]) {
    await page.keyboard.press("j");
    const chosen = await page.evaluate(() => document.activeElement.innerText);
    assert.equal(which.exec(chosen)?.[0], waiting[2 - left], "the next one is chosen");
    await page.keyboard.press("r");
    await until(async () => (await page.locator("[data-approval=pending]").count()) === left, `${left} are left`);
  }
});

test("an agent's question is answered", async () => {
  const project = await world.project();
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}`);
  await page.getByRole("button", { name: "Begin a conversation" }).click();
  await say(page, "ask me", "hands");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: /Inbox.*1/ }).click();
  const asked = page.locator("[data-approval=pending]");
  await asked.getByRole("heading", { name: "Which colour?" }).waitFor();
  await asked.getByRole("button", { name: "green" }).waitFor();
  await asked.getByLabel("Answer", { exact: true }).fill("violet");
  await asked.getByRole("button", { name: "Answer", exact: true }).click();
  await page.goBack();
  await page.locator("[data-message=assistant]").getByText("violet").waitFor();
});

test("of two tabs one decides, and the other shows it at once", async () => {
  const project = await world.project();
  const plan = await waitingPlan(project);
  const one = await browser.tab(world);
  const other = await browser.tab(world, { beside: one });
  await one.goto(`${world.url}/#/inbox`);
  await other.goto(`${world.url}/#/p/${project.id}/plans/${plan.id}`);
  await other.getByRole("button", { name: "Approve" }).waitFor();
  await one.locator("[data-approval=pending]").getByRole("button", { name: "Approve" }).click();
  await until(async () => (await other.getByRole("button", { name: "Approve" }).count()) === 0, "the other has no button any more");
  await other.locator("[data-plan-status=completed]").waitFor();

  const again = await waitingPlan(project);
  await one.locator("[data-approval=pending]").waitFor();
  // From here on it must be told: without timers it cannot ask now and then.
  await one.evaluate(stopTimers);
  await other.goto(`${world.url}/#/p/${project.id}/plans/${again.id}`);
  await other.getByRole("button", { name: "Reject" }).click();
  await one.locator("[data-approval=rejected]").waitFor();
});

test("the browser calls the person when something waits and nobody looks", async () => {
  const project = await world.project();
  const page = await browser.tab(world);
  await page.addInitScript(() => {
    window.calls = [];
    window.Notification = class {
      static permission = "granted";
      constructor(title, { body }) {
        window.calls.push([title, body]);
      }
    };
    Object.defineProperty(document, "hidden", { get: () => true });
  });
  await page.goto(`${world.url}/#/p/${project.id}/plans`);
  await page.getByText("No plan yet").waitFor();
  await waitingPlan(project);
  await until(async () => (await page.evaluate(() => window.calls.length)) > 0, "it was called");
  const [[title, body]] = await page.evaluate(() => window.calls);
  assert.equal(title, "A plan waits for you");
  assert.match(body, /Build the shop/);
  await until(async () => /^\(\d+\)/.test(await page.title()), "the title counts");
});
