// What waits for the person, of all projects: plans, tools and questions.
import { all, api } from "../api/client";
import { ApiError } from "../api/errors";
import { follow } from "../api/stream";
import type { Approval, Envelope, Project } from "../api/types";
import type { ProjectState } from "./project.svelte";
import { session } from "./session.svelte";

export type Decision = "approve" | "reject";

/** Elsewhere than in the inbox, projects that are not open are asked about now and then. */
const EVERY = 10_000;
/** What was decided stays to be seen for so long. */
const LINGER = 20_000;

class Inbox {
  pending = $state.raw<Approval[]>([]);
  /** Decided a moment ago, here or elsewhere. */
  decided = $state.raw<Approval[]>([]);
  projects = $state.raw<Project[]>([]);
  loaded = $state(false);
  error = $state.raw<unknown>(null);
  /** Whether the browser may call the person. */
  permission = $state<NotificationPermission>(typeof Notification === "undefined" ? "denied" : Notification.permission);

  private timer: ReturnType<typeof setInterval> | null = null;
  private watched: ProjectState | null = null;
  private unlisten: (() => void) | null = null;
  /** Of what waits in all projects, while the inbox itself is looked at. */
  private stream: AbortController | null = null;

  start(): void {
    if (this.timer) return;
    void this.load();
    this.timer = setInterval(() => void this.load(), EVERY);
  }

  stop(): void {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
    this.look(false);
    this.pending = [];
    this.decided = [];
    this.loaded = false;
  }

  /** Follows the project that is open, whose stream there is anyway. */
  watch(project: ProjectState | null): void {
    if (this.watched === project) return;
    this.unlisten?.();
    this.watched = project;
    this.unlisten = project?.listen({ event: (event) => this.heard(event), reread: () => void this.load() }) ?? null;
  }

  /** A browser opens six connections to a server for all its tabs, so this one is only there while it is looked at. */
  look(looking: boolean): void {
    if (looking === (this.stream !== null)) return;
    this.stream?.abort();
    this.stream = looking ? new AbortController() : null;
    if (!this.stream) return;
    void follow({
      url: "/my/approvals/events",
      signal: this.stream.signal,
      frames: () => void this.load(),
    });
  }

  projectName(id: string): string {
    return this.projects.find((project) => project.id === id)?.name ?? "another project";
  }

  async load(): Promise<void> {
    if (!session.token) return;
    try {
      const found = await all(async (limit, offset) => {
        const page = await api.get("/my/approvals", { query: { status: "pending", limit, offset } });
        return { items: page.approvals, total: page.total };
      }, 500);
      const gone = this.pending.filter((known) => !found.some((it) => it.id === known.id));
      if (this.loaded) for (const fresh of found) if (!this.pending.some((it) => it.id === fresh.id)) this.call(fresh);
      this.pending = found;
      for (const one of gone) void this.reread(one.id);
      if (found.some((it) => !this.projects.some((project) => project.id === it.project_id)) || !this.loaded) await this.loadProjects();
      this.loaded = true;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  }

  async loadProjects(): Promise<void> {
    this.projects = await all(async (limit, offset) => {
      const page = await api.get("/my/projects", { query: { limit, offset } });
      return { items: page.projects, total: page.total };
    });
  }

  /** Decides; who was not the first learns what was decided. */
  async decide(approval: Approval, decision: Decision, comment: string): Promise<"decided" | "too_late"> {
    try {
      const decided = await api.post("/my/approvals/{approval_id}/confirm", {
        path: { approval_id: approval.id },
        body: comment ? { decision, comment } : { decision },
      });
      this.settle(decided);
      return "decided";
    } catch (error) {
      if (error instanceof ApiError && error.code === "already_decided") {
        this.settle((error.body as { approval: Approval }).approval);
        return "too_late";
      }
      throw error;
    }
  }

  async decideAll(ids: string[], decision: Decision, comment: string): Promise<void> {
    const { results } = await api.post("/my/approvals/batch-confirm", {
      body: comment ? { approval_ids: ids, decision, comment } : { approval_ids: ids, decision },
    });
    for (const result of results) if (result.approval) this.settle(result.approval);
  }

  async askPermission(): Promise<void> {
    this.permission = await Notification.requestPermission();
  }

  private heard(event: Envelope): void {
    const id = event.payload.approval_id;
    if (typeof id !== "string") return;
    if (event.event_type === "approval_required" || event.event_type === "approval_resolved" || event.event_type === "approval_timeout") {
      void this.reread(id);
    }
  }

  /** Sees how one stands now. */
  private async reread(id: string): Promise<void> {
    try {
      const approval = await api.get("/my/approvals/{approval_id}", { path: { approval_id: id } });
      if (approval.status !== "pending") this.settle(approval);
      else if (!this.pending.some((it) => it.id === id)) {
        this.pending = [approval, ...this.pending];
        this.call(approval);
      }
    } catch {
      this.pending = this.pending.filter((it) => it.id !== id);
    }
  }

  private settle(approval: Approval): void {
    this.pending = this.pending.filter((it) => it.id !== approval.id);
    if (this.decided.some((it) => it.id === approval.id)) return;
    this.decided = [approval, ...this.decided].slice(0, 20);
    setTimeout(() => {
      this.decided = this.decided.filter((it) => it.id !== approval.id);
    }, LINGER);
  }

  private call(approval: Approval): void {
    if (this.permission !== "granted" || !document.hidden) return;
    const title = approval.type === "question" ? "An agent asks you" : `A ${approval.type} waits for you`;
    new Notification(title, { body: headline(approval), tag: approval.id });
  }
}

/** What is asked, in a line. */
export function headline(approval: Approval): string {
  const asked = approval.payload as Record<string, unknown>;
  if (typeof asked.question === "string") return asked.question;
  if (typeof asked.title === "string") return asked.title;
  const command = commandOf(approval);
  if (command) return command.join(" ");
  const path = (asked.arguments as Record<string, unknown> | undefined)?.path;
  const name = String(asked.tool_name ?? approval.type).replace(/^tool_/, "").replaceAll("_", " ");
  return typeof path === "string" ? `${name}: ${path}` : name;
}

/** The words of a command, as they will be run. */
export function commandOf(approval: Approval): string[] | null {
  const asked = approval.payload as Record<string, unknown>;
  const given = asked.arguments as Record<string, unknown> | undefined;
  if (typeof given?.command === "string") {
    const rest = Array.isArray(given.args) ? given.args.map(String) : [];
    return [given.command, ...rest];
  }
  if (Array.isArray(asked.command)) return asked.command.map(String);
  if (typeof asked.command === "string") return [asked.command];
  return null;
}

export const inbox = new Inbox();
