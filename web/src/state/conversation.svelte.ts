// One conversation: what was said, what is being written, and what it took.
import { address, api, once, raw } from "../api/client";
import { ApiError, isAbort } from "../api/errors";
import { Reading } from "../api/reading";
import type { Envelope, Message, PlanView } from "../api/types";
import type { ProjectState } from "./project.svelte";
import { keepTyped } from "./typed";

/** An answer while it is written. */
export interface Draft {
  task: string;
  agent: string;
  text: string;
  note: string | null;
  /** The task of a plan that it is for. */
  plan: { plan_id: string; task: string } | null;
  /** False: its beginning was missed; the whole comes at the end. */
  whole: boolean;
}

/** A message on its way to the server. */
export interface Sending {
  key: string;
  content: string;
  target: string | null;
  error: unknown;
}

const PAGE = 100;

export class Conversation {
  messages = $state.raw<Message[]>([]);
  drafts = $state<Record<string, Draft>>({});
  plans = $state.raw<Record<string, PlanView>>({});
  sending = $state<Sending[]>([]);
  total = $state(0);
  loaded = $state(false);
  loadingOlder = $state(false);
  error = $state.raw<unknown>(null);

  private readonly leave: () => void;
  private readonly ending = new AbortController();
  private readonly reading = new Reading(
    (signal) => this.read(signal),
    (error) => (this.error = error),
  );
  /** Deltas come faster than anybody reads: they are gathered and shown once a frame. */
  private readonly gathered = new Map<string, string>();
  private frame = 0;
  private readonly pendingPlans = new Set<string>();
  private plansRead = -2000;
  private planTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    readonly project: ProjectState,
    readonly id: string,
  ) {
    this.leave = project.listen({
      event: (event) => this.apply(event),
      reread: () => void this.load(),
      cut: () => this.cut(),
    });
    void this.load();
  }

  close(): void {
    this.leave();
    this.ending.abort();
    this.reading.stop();
    cancelAnimationFrame(this.frame);
    if (this.planTimer) clearTimeout(this.planTimer);
  }

  private get path() {
    return { project_id: this.project.id, session_id: this.id };
  }

  /** Somebody works on it. */
  get working(): boolean {
    return Object.keys(this.drafts).length > 0 || this.running.length > 0;
  }

  /** Plans that have not ended. */
  get running(): PlanView[] {
    return Object.values(this.plans).filter((plan) => plan.status === "executing");
  }

  get hasOlder(): boolean {
    return this.messages.length < this.total;
  }

  load(): Promise<void> {
    return this.reading.anew();
  }

  private async read(signal: AbortSignal): Promise<void> {
    const of = "/my/projects/{project_id}/chat/sessions/{session_id}";
    const { message_count } = await api.get(of, { path: this.path, signal });
    const query = { limit: PAGE, offset: Math.max(0, message_count - PAGE) };
    const page = await api.get(`${of}/messages`, { path: this.path, query, signal });
    const found = new Set(page.messages.map((message) => message.id));
    // What came by the stream while this was read stays, and so do older ones that reach up to these.
    const last = page.messages.at(-1)?.timestamp ?? "";
    const newer = this.messages.filter((message) => !found.has(message.id) && message.timestamp >= last);
    const joint = this.messages.findIndex((message) => message.id === page.messages[0]?.id);
    const older = this.messages.slice(0, Math.max(0, joint));
    this.messages = [...older, ...page.messages, ...newer];
    this.total = Math.max(page.total, query.offset + page.messages.length + newer.length);
    for (const message of this.messages) this.answered(message);
    this.loaded = true;
    this.error = null;
    await Promise.all([this.loadPlans(signal), this.findWork(signal)]);
  }

  async loadOlder(): Promise<void> {
    const first = this.messages[0];
    if (this.loadingOlder || !this.hasOlder || !first) return;
    this.loadingOlder = true;
    try {
      const page = await api.get("/my/projects/{project_id}/chat/sessions/{session_id}/messages", {
        path: this.path,
        query: { limit: PAGE, before: first.id },
        signal: this.ending.signal,
      });
      if (page.messages.length === 0) this.total = this.messages.length;
      this.messages = [...page.messages, ...this.messages];
    } catch (error) {
      if (!isAbort(error)) this.error = error;
    } finally {
      this.loadingOlder = false;
    }
  }

  /** Sends it. The answer comes by the project's stream, so the request is left as soon as it was taken. */
  async send(content: string, target: string | null): Promise<boolean> {
    const sending: Sending = { key: once()["idempotency-key"] ?? "", content, target, error: null };
    this.sending.push(sending);
    return this.deliver(sending.key);
  }

  async deliver(key: string): Promise<boolean> {
    const sending = this.sending.find((other) => other.key === key);
    if (!sending) return false;
    sending.error = null;
    const request = new AbortController();
    try {
      const url = address("/my/projects/{project_id}/chat/{session_id}/message", this.path);
      const body = JSON.stringify(
        sending.target ? { content: sending.content, target_agent: sending.target } : { content: sending.content },
      );
      await raw("post", url, {
        headers: { accept: "text/event-stream", "content-type": "application/json", "idempotency-key": key },
        body,
        signal: request.signal,
      });
      this.sending = this.sending.filter((other) => other.key !== key);
      return true;
    } catch (error) {
      sending.error = error;
      // The page goes to the door: after that, it is in the field again.
      if (error instanceof ApiError && error.status === 401) keepTyped(this.id, sending.content);
      return false;
    } finally {
      request.abort();
    }
  }

  discard(key: string): void {
    this.sending = this.sending.filter((other) => other.key !== key);
  }

  /** Stops everything that is under way here. */
  async stop(): Promise<void> {
    const tasks = Object.values(this.drafts).filter((draft) => !draft.plan);
    await Promise.all([
      ...this.running.map((plan) =>
        api.post("/my/projects/{project_id}/plans/{plan_id}/cancel", {
          path: { project_id: this.project.id, plan_id: plan.id },
        }),
      ),
      ...tasks.map((draft) =>
        api.post("/my/projects/{project_id}/tasks/{task_id}/cancel", {
          path: { project_id: this.project.id, task_id: draft.task },
        }),
      ),
    ]);
  }

  /** The whole answer is here: what was in flight of it goes. */
  private answered(message: Message): void {
    if (message.role !== "user" && message.task_id) this.drop(message.task_id);
  }

  private async loadPlans(signal: AbortSignal): Promise<void> {
    const page = await api.get("/my/projects/{project_id}/plans", {
      path: { project_id: this.project.id },
      query: { session_id: this.id, limit: 50 },
      signal,
    });
    await Promise.all(page.plans.slice(0, 10).map((plan) => this.loadPlan(plan.id, signal)));
  }

  private async loadPlan(plan_id: string, signal = this.ending.signal): Promise<void> {
    const plan = await api.get("/my/projects/{project_id}/plans/{plan_id}", { path: { project_id: this.project.id, plan_id }, signal });
    this.plans = { ...this.plans, [plan_id]: plan };
  }

  /** Opened in the middle of an answer: whose it is, and how far. */
  private async findWork(signal: AbortSignal): Promise<void> {
    const answered = new Set(this.messages.filter((it) => it.role !== "user").map((it) => it.task_id));
    const open = this.messages.slice(-5).filter((it) => it.role === "user" && it.task_id && !answered.has(it.task_id));
    for (const { task_id } of open) {
      if (!task_id || this.drafts[task_id]) continue;
      const task = await api.get("/my/projects/{project_id}/tasks/{task_id}", {
        path: { project_id: this.project.id, task_id },
        signal,
      });
      const over = ["completed", "failed", "cancelled"].includes(task.status);
      if (!over) this.draft(task_id, task.agent_id, false, null);
    }
  }

  private draft(task: string, agent: string, whole: boolean, plan: Draft["plan"]): Draft {
    this.drafts[task] ??= { task, agent, text: "", note: null, plan, whole };
    return this.drafts[task];
  }

  private drop(task: string): void {
    this.gathered.delete(task);
    delete this.drafts[task];
  }

  /** Text in flight has no number, so what was missed of it does not come again; the whole does. */
  private cut(): void {
    this.gathered.clear();
    for (const draft of Object.values(this.drafts)) {
      draft.text = "";
      draft.whole = false;
    }
  }

  private apply(event: Envelope): void {
    if (event.session_id !== this.id) return;
    const said = event.payload;
    const task = String(said.task_id ?? "");
    const agent = String(said.agent_id ?? "");
    const plan = (said.plan ?? null) as Draft["plan"];
    switch (event.event_type) {
      case "message_created": {
        const message = said.message as Message;
        if (!this.messages.some((other) => other.id === message.id)) {
          this.messages = [...this.messages, message];
          this.total += 1;
        }
        this.answered(message);
        if (message.outcome?.plan_id) this.rereadPlan(message.outcome.plan_id);
        break;
      }
      case "direct_agent_call":
      case "task_started":
        this.draft(task, agent, true, plan);
        if (plan) this.rereadPlan(plan.plan_id);
        break;
      case "task_progress":
        this.draft(task, agent, false, plan).note = String(said.detail ?? "");
        break;
      case "message_delta":
        this.draft(task, agent, false, plan);
        this.gathered.set(task, (this.gathered.get(task) ?? "") + String(said.text ?? ""));
        this.frame ||= requestAnimationFrame(() => this.show());
        break;
      case "task_completed":
      case "task_failed":
      case "task_cancelled":
        this.drop(task);
        if (plan) this.rereadPlan(plan.plan_id);
        break;
      case "task_plan_created":
      case "plan_request":
      case "plan_status_changed":
        this.rereadPlan(String(said.plan_id));
        break;
      case "approval_resolved":
        for (const known of Object.values(this.plans)) if (known.approval_id === said.approval_id) this.rereadPlan(known.id);
        break;
    }
  }

  private show(): void {
    this.frame = 0;
    for (const [task, text] of this.gathered) {
      const draft = this.drafts[task];
      if (draft) draft.text += text;
    }
    this.gathered.clear();
  }

  private rereadPlan(id: string): void {
    this.pendingPlans.add(id);
    // A plan moves often, and a server counts what it is asked.
    const pause = Math.max(200, 2000 - (performance.now() - this.plansRead));
    this.planTimer ??= setTimeout(() => {
      this.planTimer = null;
      this.plansRead = performance.now();
      const plans = [...this.pendingPlans];
      this.pendingPlans.clear();
      for (const plan of plans) void this.loadPlan(plan).catch(() => {});
    }, pause);
  }
}
