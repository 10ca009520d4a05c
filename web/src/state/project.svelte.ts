// The project that is open: its team and its conversations, kept true by its stream of events.
import { all, api } from "../api/client";
import { Reading } from "../api/reading";
import { type Frame, type Link, follow } from "../api/stream";
import type { Agent, AgentStatusView, Client, Envelope, Project, Session } from "../api/types";
import { clock } from "./clock.svelte";

type Listener = (event: Envelope) => void;

/** What stands in a place of the page that follows the project: told of events, and when to read everything anew. */
export interface Follower {
  event: Listener;
  reread: () => void;
  /** The line was cut: what is not numbered may have been missed. */
  cut?: () => void;
}

/** A page that was not looked at for so long, in milliseconds, needs no stream. */
const AWAY = 30_000;
/** How often agents at work are asked what they do, in milliseconds: a server counts what it is asked. */
const EVERY = 8000;

export class ProjectState {
  project = $state.raw<Project | null>(null);
  agents = $state.raw<Agent[]>([]);
  doing = $state<Record<string, AgentStatusView>>({});
  /** What each agent said last about what it works on. */
  notes = $state<Record<string, string>>({});
  sessions = $state.raw<Session[]>([]);
  client = $state.raw<Client | null>(null);
  link = $state<Link>("connecting");
  loaded = $state(false);
  error = $state.raw<unknown>(null);

  private readonly followers = new Set<Follower>();
  private readonly ending = new AbortController();
  /** The stream, as long as somebody looks. */
  private stream: AbortController | null = null;
  private last: string | null = null;
  private away: ReturnType<typeof setTimeout> | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private readonly reading = new Reading(
    (signal) => this.read(signal),
    (error) => (this.error = error),
  );
  private refreshed = 0;

  constructor(readonly id: string) {
    this.connect();
    document.addEventListener("visibilitychange", () => this.looked(), { signal: this.ending.signal });
  }

  close(): void {
    this.ending.abort();
    this.reading.stop();
    this.stream?.abort();
    if (this.timer) clearTimeout(this.timer);
    if (this.away) clearTimeout(this.away);
  }

  private connect(): void {
    const stream = new AbortController();
    this.stream = stream;
    void follow({
      url: `/my/projects/${encodeURIComponent(this.id)}/events`,
      after: this.last,
      signal: stream.signal,
      opened: (resumed) => {
        // The stream stands before the state is read, so nothing can fall between the two.
        if (!resumed || !this.loaded) this.reread();
      },
      frames: (frames) => this.take(frames),
      link: (link) => this.turn(link),
      refused: (error) => {
        this.error = error;
      },
    });
  }

  /**
   * A browser opens six connections to a server for all its tabs: one that nobody looks at gives its own up after a
   * while, and goes on exactly where it was when somebody comes back.
   */
  private looked(): void {
    if (this.away) clearTimeout(this.away);
    this.away = null;
    if (document.hidden) {
      this.away = setTimeout(() => {
        this.stream?.abort();
        this.stream = null;
        for (const follower of this.followers) follower.cut?.();
      }, AWAY);
    } else if (!this.stream) {
      this.connect();
    }
  }

  listen(follower: Follower): () => void {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }

  agent(id: string | null | undefined): Agent | undefined {
    return id ? this.agents.find((agent) => agent.id === id) : undefined;
  }

  agentName(id: string | null | undefined): string {
    return this.agent(id)?.name ?? (id ? "a former agent" : "the team");
  }

  private get path() {
    return { project_id: this.id };
  }

  private reread(): void {
    void this.load();
    for (const follower of this.followers) follower.reread();
  }

  private turn(link: Link): void {
    if (link === "lost" && this.link === "live") for (const follower of this.followers) follower.cut?.();
    this.link = link;
  }

  load(): Promise<void> {
    return this.reading.anew();
  }

  private async read(signal: AbortSignal): Promise<void> {
    const [project] = await Promise.all([
      api.get("/my/projects/{project_id}", { path: this.path, signal }),
      this.loadAgents(signal),
      this.loadSessions(signal),
      this.loadClient(signal),
    ]);
    this.project = project;
    this.loaded = true;
    this.error = null;
  }

  async loadAgents(signal = this.ending.signal): Promise<void> {
    this.agents = await all(async (limit, offset) => {
      const page = await api.get("/my/projects/{project_id}/agents", { path: this.path, query: { limit, offset }, signal });
      return { items: page.agents, total: page.total };
    });
    this.refresh(0);
  }

  private async loadSessions(signal: AbortSignal): Promise<void> {
    this.sessions = await all(async (limit, offset) => {
      const page = await api.get("/my/projects/{project_id}/chat/sessions", { path: this.path, query: { limit, offset }, signal });
      return { items: page.sessions, total: page.total };
    });
  }

  private async loadClient(signal = this.ending.signal): Promise<void> {
    const { clients } = await api.get("/my/projects/{project_id}/clients", { path: this.path, signal });
    this.client = clients[0] ?? null;
  }

  private take(frames: Frame[]): void {
    for (const frame of frames) {
      if (frame.id !== null) this.last = frame.id;
      let event: Envelope;
      try {
        event = JSON.parse(frame.data) as Envelope;
      } catch {
        continue;
      }
      this.apply(event);
      for (const follower of this.followers) follower.event(event);
    }
  }

  private apply(event: Envelope): void {
    const said = event.payload;
    const agent = typeof said.agent_id === "string" ? said.agent_id : null;
    switch (event.event_type) {
      case "heartbeat":
        clock.learn(event.timestamp);
        break;
      case "resync":
        this.reread();
        break;
      case "agent_status_changed":
        void this.loadAgents().catch(() => {});
        break;
      case "project_updated":
        if (this.project) this.project = { ...this.project, ...(said as Partial<Project>) };
        break;
      case "message_created":
        this.heard(event);
        break;
      case "client_changed":
        void this.loadClient().catch(() => {});
        break;
      case "task_progress":
        if (agent) this.notes[agent] = String(said.detail ?? "");
        break;
      case "task_started":
        if (agent) this.count(agent, 1, "processing");
        break;
      case "task_completed":
      case "task_cancelled":
        if (agent) this.count(agent, -1, "idle");
        break;
      case "task_failed":
        if (agent) this.count(agent, -1, "error");
        break;
    }
  }

  /** A conversation has grown. */
  private heard(event: Envelope): void {
    const known = this.sessions.find((session) => session.id === event.session_id);
    if (!event.session_id) return;
    if (!known || known.title === "") {
      void this.loadSession(event.session_id);
      return;
    }
    const grown = { ...known, message_count: known.message_count + 1, updated_at: event.timestamp };
    this.sessions = [grown, ...this.sessions.filter((session) => session !== known)];
  }

  private async loadSession(id: string): Promise<void> {
    try {
      const session = await api.get("/my/projects/{project_id}/chat/sessions/{session_id}", {
        path: { ...this.path, session_id: id },
      });
      this.sessions = [session, ...this.sessions.filter((other) => other.id !== id)];
    } catch {
      // It was deleted meanwhile.
    }
  }

  /** One task more, or one less: shown at once, and asked for exactly a while later. */
  private count(agent: string, by: number, otherwise: AgentStatusView["status"]): void {
    delete this.notes[agent];
    const doing = this.doing[agent];
    if (doing) {
      const running = Math.max(0, doing.running + by);
      const status = running === 0 ? otherwise : running >= doing.concurrency_limit ? "busy" : "processing";
      this.doing[agent] = { ...doing, running, status };
    }
    this.refresh(Math.max(1500, EVERY - (Date.now() - this.refreshed)));
  }

  /** Asks what the agents do, a moment later and of all of them. */
  private refresh(wait: number): void {
    if (this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.refreshed = Date.now();
      api.get("/my/projects/{project_id}/status", { path: this.path }).then(
        ({ agents }) => {
          this.doing = Object.fromEntries(agents.map((status) => [status.agent_id, status]));
        },
        () => {},
      );
    }, wait);
  }
}

class Current {
  state = $state.raw<ProjectState | null>(null);

  /** Opens a project, and closes the one before. */
  open(id: string | null): void {
    if (this.state?.id === id) return;
    this.state?.close();
    this.state = id ? new ProjectState(id) : null;
  }
}

export const current = new Current();
