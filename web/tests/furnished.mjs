// A world in which every view has something to show.
import { until } from "./harness.mjs";

/** A program that answers by lines, and says on its other stream what it does. */
export const PROGRAM = `echo "smith: warming up" >&2; echo __READY__
while read -r said; do
  echo "smith: asked: $said" >&2
  case "$said" in *flood*) awk 'BEGIN { for (i = 1; i <= 100000; i++) print "flood line " i > "/dev/stderr" }' ;; esac
  echo "I have done it: $said"; echo __DONE__
done`;

export async function addProgram(world, project, name = "smith") {
  const runtime = {
    kind: "line",
    command: ["sh", "-c", PROGRAM],
    options: { protocol: { ready: { line: "^__READY__$" }, turn_end: { line: "^__DONE__$" } } },
  };
  return world.ask("POST", `/my/projects/${project.id}/agents`, { name, config: { runtime, system_prompt: "You forge what you are told.", metadata: { role: "smith", capabilities: ["forge"] } } });
}

const task = (name, agent, description, depends_on = []) => ({ name, agent, description, depends_on });

export const TASKS = [
  task("research", "analyst", "Find out how the orders reach the warehouse, and what is lost on the way"),
  task("schema", "coder", "Draw up tables for parcels and their states", ["research"]),
  task("api", "coder", "Write the routes for parcels, with tests", ["schema"]),
  task("texts", "writer", "Write what customers are told at each step", ["research"]),
  task("review", "analyst", "Look for mistakes that matter", ["api"]),
  task("guide", "writer", "Write the guide for the people at the counter", ["texts", "review"]),
];

export async function furnish(world) {
  const project = await world.project("Web shop");
  const base = `/my/projects/${project.id}`;
  const session = await world.ask("POST", `${base}/chat/sessions`, {});
  const say = (content, target_agent, where = session.id) => world.ask("POST", `${base}/chat/${where}/message`, { content, target_agent });
  await say("Where would you begin? Answer in MARKDOWN", "coder");
  await say("Артель 🛠️ и שלום: which languages do you write?", "writer");
  await say("FAIL at this one", "analyst").catch(() => {});

  const other = await world.ask("POST", `${base}/chat/sessions`, { title: "The slow build" });
  await say("Why is the build slow?", "analyst", other.id);

  const plan = async (request, tasks) => world.ask("POST", `${base}/plans`, { request, tasks });
  const done = await plan("Ship parcels by drone", TASKS.map((it) => ({ ...it, description: `${it.description}. SLOW` })));
  await world.ask("POST", `${base}/plans/${done.id}/execute`);
  await world.ask("POST", `${base}/plans/${done.id}/approve`, { comment: "fine" });
  await world.ask("GET", `${base}/plans/${done.id}?wait=60`);
  const waiting = await plan("Build parcel tracking for the shop", TASKS);
  await world.ask("POST", `${base}/plans/${waiting.id}/execute`);

  const client = await world.client(project.id);
  const third = await world.ask("POST", `${base}/chat/sessions`, { title: "Doors" });
  void say("write it", "hands", third.id).catch(() => {});
  const fourth = await world.ask("POST", `${base}/chat/sessions`, { title: "Colours" });
  void say("ask me", "hands", fourth.id).catch(() => {});
  await until(async () => (await world.ask("GET", "/my/approvals?status=pending")).total === 3, "three things wait");

  const { agents } = await world.ask("GET", `${base}/agents`);
  const coder = agents.find((agent) => agent.name === "coder");
  const day = 24 * 60 * 60 * 1000;
  for (let at = 0; at < 40; at += 1) {
    const kinds = ["task_execution", "tool_call", "user_message", "agent_response"];
    await world.ask("POST", `${base}/agents/${coder.id}/context`, {
      text: `The tests need Redis on port ${6390 + at}; run ${at} said so.`,
      interaction_type: kinds[at % 7 > 3 ? 0 : at % 4],
      success: at % 5 !== 0,
      timestamp: new Date(Date.now() - (at % 14) * day).toISOString(),
    });
  }
  const smith = await addProgram(world, project);
  await world.ask("POST", `/agents/${smith.id}/start`);
  await world.ask("POST", `/agents/${smith.id}/message?wait=25`, { message: "a hinge, please" });
  const empty = await world.ask("POST", `${base}/chat/sessions`, {});
  return { project, session, empty, done, waiting, coder, smith, client };
}

/** Every view by its name: where it is, and what is there once it is whole. */
export function views({ project, session, empty, done, waiting, coder, smith }) {
  const at = `/#/p/${project.id}`;
  return {
    start: { to: "/#/", ready: "text=What agents can be here" },
    conversation: { to: `${at}/s/${session.id}`, ready: "[data-message=assistant]" },
    "conversation-empty": { to: `${at}/s/${empty.id}`, ready: ".first" },
    inbox: { to: "/#/inbox", ready: "[data-approval=pending]" },
    plans: { to: `${at}/plans`, ready: "main li [data-item]" },
    "plan-waiting": { to: `${at}/plans/${waiting.id}`, ready: "[data-task]" },
    "plan-done": { to: `${at}/plans/${done.id}`, ready: "[data-task][data-status=completed]" },
    agents: { to: `${at}/agents`, ready: "main li [data-item]" },
    agent: { to: `${at}/agents/${coder.id}`, ready: ".tools label" },
    program: { to: `${at}/agents/${smith.id}`, ready: "[role=log] .line" },
    "agent-new": { to: `${at}/agents/new`, ready: ".tools label" },
    memory: { to: `${at}/memory/${coder.id}`, ready: "[data-total]" },
    health: { to: `${at}/health`, ready: "[data-spend=read]" },
  };
}
