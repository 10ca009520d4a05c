// Server-Sent Events over fetch, so that the token travels in a header; cut off, it goes on where it was.
import { pause, raw } from "./client";
import { ApiError, isAbort } from "./errors";
import { backoff } from "./reading";

export interface Frame {
  id: string | null;
  event: string;
  data: string;
}

/** Turns pieces of text, cut anywhere, into frames. */
export class Parser {
  private rest = "";
  private frame: { id: string | null; event: string; data: string[] } = { id: null, event: "message", data: [] };

  push(text: string): Frame[] {
    this.rest += text;
    const frames: Frame[] = [];
    let start = 0;
    for (;;) {
      const end = this.rest.indexOf("\n", start);
      if (end < 0) break;
      const line = this.rest.slice(start, end).replace(/\r$/, "");
      start = end + 1;
      if (line === "") {
        const { id, event, data } = this.frame;
        if (data.length > 0) frames.push({ id, event, data: data.join("\n") });
        this.frame = { id: null, event: "message", data: [] };
      } else if (!line.startsWith(":")) {
        this.field(line);
      }
    }
    this.rest = this.rest.slice(start);
    return frames;
  }

  private field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "id") this.frame.id = value;
    else if (name === "event") this.frame.event = value;
    else if (name === "data") this.frame.data.push(value);
  }
}

export type Link = "connecting" | "live" | "lost";

export interface Follower {
  url: string;
  /** Where to go on from; null: from now. */
  after?: string | null;
  /** The stream stands. `resumed`: it goes on exactly where it was; otherwise the state must be read anew. */
  opened?: (resumed: boolean) => void;
  frames: (frames: Frame[]) => void;
  link?: (link: Link) => void;
  /** It will not be tried again. */
  refused?: (error: ApiError) => void;
  signal: AbortSignal;
}

/** The server says a word every 15 s or so; a line that is silent for much longer is dead. */
const SILENCE = 50_000;

/** Follows a stream until the signal ends it. Each numbered frame is given out once. */
export async function follow(what: Follower): Promise<void> {
  let last = what.after ?? null;
  let failures = 0;
  what.link?.("connecting");
  while (!what.signal.aborted) {
    const attempt = new AbortController();
    const leave = () => attempt.abort();
    what.signal.addEventListener("abort", leave);
    const watchdog = new Watchdog(leave);
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (last !== null) headers["last-event-id"] = last;
      const response = await raw("get", what.url, { headers, signal: attempt.signal });
      failures = 0;
      what.link?.("live");
      what.opened?.(last !== null);
      await read(response, watchdog, (frames) => {
        const fresh = frames.filter((frame) => {
          if (frame.id === null) return true;
          // Should a proxy ever replay something, it is not shown twice.
          if (last !== null && Number(frame.id) <= Number(last)) return false;
          last = frame.id;
          return true;
        });
        if (fresh.length > 0) what.frames(fresh);
      });
    } catch (error) {
      if (what.signal.aborted) return;
      const final = error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429 && error.status !== 408;
      if (final) {
        what.refused?.(error);
        return;
      }
      if (!isAbort(error)) failures += 1;
    } finally {
      watchdog.stop();
      what.signal.removeEventListener("abort", leave);
      attempt.abort();
    }
    if (what.signal.aborted) return;
    what.link?.("lost");
    await pause(backoff(failures), what.signal).catch(() => {});
  }
}

async function read(response: Response, watchdog: Watchdog, give: (frames: Frame[]) => void): Promise<void> {
  const reader = response.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  const parser = new Parser();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    watchdog.heard();
    const frames = parser.push(decoder.decode(value, { stream: true }));
    if (frames.length > 0) give(frames);
  }
}

/** Calls when nothing was heard for too long, be it the answer itself or what comes by it. */
class Watchdog {
  private timer: ReturnType<typeof setTimeout>;

  constructor(private readonly call: () => void) {
    this.timer = setTimeout(call, SILENCE);
  }

  heard(): void {
    this.stop();
    this.timer = setTimeout(this.call, SILENCE);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
