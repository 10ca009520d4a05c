// One plan as it goes on: its tasks, what each says, and the verbs there are for it.
import { api } from "../api/client";
import { Reading } from "../api/reading";
import type { Envelope, PlanTask, PlanView } from "../api/types";
import type { ProjectState } from "./project.svelte";

/** How often a plan that moves is read, in milliseconds: a server counts what it is asked. */
const EVERY = 2000;

export class PlanState {
  plan = $state.raw<PlanView | null>(null);
  /** What a task said last, while it works. */
  said = $state<Record<string, string>>({});
  error = $state.raw<unknown>(null);

  private readonly leave: () => void;
  private readonly reading = new Reading(
    (signal) => this.look(signal),
    (error) => (this.error = error),
  );
  private timer: ReturnType<typeof setTimeout> | null = null;
  private took = 0;
  private read = 0;

  constructor(
    readonly project: ProjectState,
    readonly id: string,
  ) {
    this.leave = project.listen({ event: (event) => this.apply(event), reread: () => void this.load() });
    void this.load();
  }

  close(): void {
    this.leave();
    this.reading.stop();
    if (this.timer) clearTimeout(this.timer);
  }

  get path() {
    return { project_id: this.project.id, plan_id: this.id };
  }

  load(): Promise<void> {
    return this.reading.anew();
  }

  private async look(signal: AbortSignal): Promise<void> {
    const began = performance.now();
    this.plan = await api.get("/my/projects/{project_id}/plans/{plan_id}", { path: this.path, signal });
    this.error = null;
    this.read = performance.now();
    this.took = this.read - began;
  }

  /** Does something with the plan; what it gives is the plan as it is then. */
  async act(work: () => Promise<PlanView>): Promise<void> {
    this.plan = await work();
  }

  private apply(event: Envelope): void {
    const said = event.payload;
    const place = said.plan as { plan_id: string; task: string } | undefined;
    if (place?.plan_id === this.id) {
      this.step(event, place.task);
      return;
    }
    if (said.plan_id === this.id || (said.approval_id !== undefined && said.approval_id === this.plan?.approval_id)) this.soon();
  }

  private step(event: Envelope, task: string): void {
    const said = event.payload;
    switch (event.event_type) {
      case "message_delta":
        this.said[task] = ((this.said[task] ?? "") + String(said.text ?? "")).slice(-400);
        return;
      case "task_progress":
        this.said[task] = String(said.detail ?? "");
        return;
      case "task_started":
        this.mark(task, { status: "executing", started_at: event.timestamp });
        break;
      case "task_completed":
        this.mark(task, { status: "completed", finished_at: event.timestamp });
        break;
      case "task_failed":
        this.mark(task, { status: "failed", finished_at: event.timestamp });
        break;
      case "task_cancelled":
        this.mark(task, { status: "cancelled", finished_at: event.timestamp });
        break;
    }
    if (event.event_type !== "task_started") delete this.said[task];
    this.soon();
  }

  private mark(name: string, change: Partial<PlanTask>): void {
    if (!this.plan) return;
    const tasks = this.plan.tasks.map((task) => (task.task_id === name ? { ...task, ...change } : task));
    this.plan = { ...this.plan, tasks };
  }

  /** It is not read anew for each of its steps, which the stream tells; only now and then, for the rest. */
  private soon(): void {
    const pause = Math.max(EVERY, this.took * 5) - (performance.now() - this.read);
    this.timer ??= setTimeout(
      () => {
        this.timer = null;
        void this.load();
      },
      Math.min(5000, Math.max(250, pause)),
    );
  }
}
