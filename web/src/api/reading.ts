// Reading what is true from a server that may be away for a while.
import { pause } from "./client";
import { isAbort, isAway, unreachable } from "./errors";

const LONGEST_PAUSE = 10_000;
/** A server that says nothing for so long, in milliseconds, is away. */
const SILENCE = 60_000;

/** How long to wait before trying again. A little chance keeps a hundred pages from coming back in the same instant. */
export function backoff(failures: number): number {
  return Math.min(LONGEST_PAUSE, 250 * 2 ** Math.min(failures, 6)) * (0.75 + Math.random() / 2);
}

/**
 * Something that is read anew whenever it may have changed. It is read by one request at a time: who asks meanwhile is
 * answered by one that begins after that. It does not give up while the server is away, since what was said to be stale
 * must not stay so because nobody answered just then.
 */
export class Reading {
  private wanted = false;
  private under: Promise<void> | null = null;
  private attempt = new AbortController();
  private nap = new AbortController();
  private stopped = false;

  constructor(
    private readonly work: (signal: AbortSignal) => Promise<void>,
    private readonly failed: (error: unknown) => void,
  ) {}

  anew(): Promise<void> {
    this.wanted = true;
    this.nap.abort();
    this.under ??= this.go().finally(() => (this.under = null));
    return this.under;
  }

  stop(): void {
    this.stopped = true;
    this.attempt.abort();
    this.nap.abort();
  }

  private async go(): Promise<void> {
    let failures = 0;
    while (this.wanted && !this.stopped) {
      this.wanted = false;
      try {
        await this.once();
        failures = 0;
      } catch (error) {
        if (this.stopped) return;
        this.failed(error);
        if (!isAway(error)) continue;
        this.wanted = true;
        failures += 1;
        this.nap = new AbortController();
        await pause(backoff(failures), this.nap.signal).catch(() => {});
      }
    }
  }

  private async once(): Promise<void> {
    this.attempt = new AbortController();
    const timer = setTimeout(() => this.attempt.abort(), SILENCE);
    try {
      await this.work(this.attempt.signal);
    } catch (error) {
      throw isAbort(error) ? unreachable() : error;
    } finally {
      clearTimeout(timer);
    }
  }
}
