// What a project's kept events say of the past: what was spent, by day and agent, and what went wrong.
import { follow } from "../../api/stream";
import type { Envelope, Usage } from "../../api/types";

export interface Trouble {
  at: string;
  code: string;
  detail: string;
  resolved: boolean;
}

export class Past {
  events = 0;
  tokens = 0;
  cost = 0;
  /** Answers whose model has no known price. */
  unpriced = 0;
  readonly byDay = new Map<string, { cost: number; tokens: number }>();
  readonly byAgent = new Map<string, { cost: number; tokens: number; tasks: number }>();
  readonly troubles: Trouble[] = [];

  add(event: Envelope): void {
    this.events += 1;
    const said = event.payload;
    if (event.event_type === "alert") {
      this.troubles.unshift({ at: event.timestamp, code: String(said.code), detail: String(said.detail), resolved: said.resolved === true });
      this.troubles.splice(50);
    }
    const usage = said.usage as Usage | null | undefined;
    if (event.event_type !== "task_completed" || !usage) return;
    const tokens = usage.input_tokens + usage.output_tokens;
    const cost = usage.cost ?? 0;
    if (usage.cost === null || usage.cost === undefined) this.unpriced += 1;
    this.tokens += tokens;
    this.cost += cost;
    const day = event.timestamp.slice(0, 10);
    const ofDay = this.byDay.get(day) ?? { cost: 0, tokens: 0 };
    this.byDay.set(day, { cost: ofDay.cost + cost, tokens: ofDay.tokens + tokens });
    const agent = String(said.agent_id);
    const ofAgent = this.byAgent.get(agent) ?? { cost: 0, tokens: 0, tasks: 0 };
    this.byAgent.set(agent, { cost: ofAgent.cost + cost, tokens: ofAgent.tokens + tokens, tasks: ofAgent.tasks + 1 });
  }
}

/** After so long without a word the past is over: what comes then is the present. */
const QUIET = 600;
const MOST = 200_000;

/** Reads all events that the server has kept of a project; says now and then how far it is. */
export async function readPast(project: string, signal: AbortSignal, progress: (past: Past) => void): Promise<Past> {
  const past = new Past();
  const ending = new AbortController();
  signal.addEventListener("abort", () => ending.abort());
  let timer = setTimeout(() => ending.abort(), QUIET * 5);
  await follow({
    url: `/my/projects/${encodeURIComponent(project)}/events?after=0`,
    signal: ending.signal,
    refused: () => ending.abort(),
    frames: (frames) => {
      for (const frame of frames) if (frame.id !== null) past.add(JSON.parse(frame.data) as Envelope);
      progress(past);
      clearTimeout(timer);
      timer = setTimeout(() => ending.abort(), QUIET);
      if (past.events > MOST) ending.abort();
    },
  });
  clearTimeout(timer);
  return past;
}
