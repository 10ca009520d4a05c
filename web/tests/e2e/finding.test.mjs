// Finding things again: what was said, what was pinned elsewhere, what was spent, what there is to work with; and an
// inbox that hears of every project.
import assert from "node:assert/strict";
import { until } from "../harness.mjs";
import { browser, stage, test, world } from "../stage.mjs";

stage();

test("a conversation is found by what was said in it, and a pin is seen in another browser", async () => {
  const project = await world.project();
  const base = `/my/projects/${project.id}/chat`;
  for (const [title, said] of [["Doors", "Where does the ПОСЫЛКА go?"], ["Colours", "Which green is it?"], ["Post", "nothing of that"]]) {
    const session = await world.ask("POST", `${base}/sessions`, { title });
    await world.ask("POST", `${base}/${session.id}/message`, { content: said, target_agent: "coder" });
  }
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}`);
  const list = page.getByRole("complementary", { name: "Conversations" });
  await list.getByText("Doors").waitFor();
  await list.getByRole("searchbox").fill("посылка");
  await until(async () => /^Doors/.test((await list.locator("a").allInnerTexts()).join()), "found by its letters");
  assert.equal(await list.locator("a").count(), 1);
  await list.getByRole("searchbox").fill("no such words");
  await list.getByText("Nobody said these words.").waitFor();
  await list.getByRole("searchbox").fill("");
  await list.getByRole("button", { name: "More about Doors" }).click();
  await page.getByRole("button", { name: "Pin" }).click();
  await page.getByRole("button", { name: "Pinned" }).waitFor();
  const other = await browser.tab(world);
  await other.goto(`${world.url}/#/p/${project.id}`);
  const theirs = other.getByRole("complementary", { name: "Conversations" });
  await theirs.getByText("★ Doors").waitFor();
  assert.match(await theirs.locator("a").first().innerText(), /★ Doors/);
});

test("what was spent stands by day and agent, for the time that is chosen", async () => {
  const project = await world.project();
  const session = await world.ask("POST", `/my/projects/${project.id}/chat/sessions`, {});
  for (const agent of ["coder", "coder", "writer"]) await world.ask("POST", `/my/projects/${project.id}/chat/${session.id}/message`, { content: "well", target_agent: agent });
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/p/${project.id}/health`);
  const spent = page.locator("[data-spend=read]");
  await spent.getByText("in 3 tasks").waitFor();
  await spent.getByText("2 tasks").waitFor();
  await spent.getByRole("combobox", { name: "Time" }).selectOption("7 days");
  await spent.getByText("in 3 tasks").waitFor();
});

test("the start says which services of models there are, and what to set for others", async () => {
  const page = await browser.tab(world);
  await page.goto(world.url);
  await page.locator("[data-service=anthropic]").getByText("ANTHROPIC_API_KEY").waitFor();
  await page.locator("[data-service=scripted]").getByText("default").waitFor();
  await page.getByText("a script answers in place of one").waitFor();
});

test("the inbox shows what comes and goes in each of many projects", async () => {
  const page = await browser.tab(world);
  await page.goto(`${world.url}/#/inbox`);
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  const asked = [];
  for (const name of ["one", "two", "three", "four", "five"]) {
    const project = await world.project(`Project ${name}`);
    const tasks = ["a", "b", "c", "d"].map((task) => ({ name: task, agent: "coder", description: "do it" }));
    const plan = await world.ask("POST", `/my/projects/${project.id}/plans`, { request: `Plan of ${name}`, tasks });
    asked.push((await world.ask("POST", `/my/projects/${project.id}/plans/${plan.id}/execute`)).approval_id);
    await page.locator("[data-approval]").getByText(`Project ${name}`).first().waitFor({ timeout: 5000 });
  }
  for (const id of asked) await world.ask("POST", `/my/approvals/${id}/confirm`, { decision: "reject", comment: "not now" });
  await until(async () => (await page.locator("[data-approval=pending]").count()) === 0, "all of them are seen to be decided");
});
