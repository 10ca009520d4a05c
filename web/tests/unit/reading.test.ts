// Reading anew: one at a time, and until somebody answers.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError, unreachable } from "../../src/api/errors";
import { Reading } from "../../src/api/reading";

/** A reading whose answers are given by hand. */
function byHand() {
  const asked: { answer: () => void; fail: (error: unknown) => void; signal: AbortSignal }[] = [];
  const failures: unknown[] = [];
  const reading = new Reading(
    (signal) => new Promise((answer, fail) => asked.push({ answer, fail, signal })),
    (error) => failures.push(error),
  );
  return { asked, failures, reading };
}

describe("Reading", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("answers all who ask while it reads with one more reading", async () => {
    const { asked, reading } = byHand();
    void reading.anew();
    void reading.anew();
    const last = reading.anew();
    expect(asked.length).toBe(1);
    asked[0]?.answer();
    await vi.advanceTimersByTimeAsync(0);
    expect(asked.length).toBe(2);
    asked[1]?.answer();
    await last;
    expect(asked.length).toBe(2);
  });

  it("tries again for as long as the server is away, and at once when it is asked to", async () => {
    const { asked, failures, reading } = byHand();
    const done = reading.anew();
    for (let at = 0; at < 5; at += 1) {
      asked[at]?.fail(unreachable());
      await vi.advanceTimersByTimeAsync(15_000);
    }
    expect(asked.length).toBe(6);
    expect(failures.length).toBe(5);
    asked[5]?.fail(new ApiError(503, "stopping", "The server is stopping"));
    await vi.advanceTimersByTimeAsync(0);
    void reading.anew();
    await vi.advanceTimersByTimeAsync(0);
    expect(asked.length).toBe(7);
    asked[6]?.answer();
    await done;
    expect(asked.length).toBe(7);
  });

  it("takes a server that says nothing for one that is away", async () => {
    const { asked, failures, reading } = byHand();
    void reading.anew();
    asked[0]?.signal.addEventListener("abort", () => asked[0]?.fail(new DOMException("Aborted", "AbortError")));
    await vi.advanceTimersByTimeAsync(75_000);
    expect(failures).toEqual([unreachable()]);
    expect(asked.length).toBe(2);
    reading.stop();
  });

  it("gives up what is refused, and everything when it is stopped", async () => {
    const { asked, failures, reading } = byHand();
    const refused = reading.anew();
    asked[0]?.fail(new ApiError(404, "not_found", "No such conversation"));
    await refused;
    expect(failures.length).toBe(1);
    const stopped = reading.anew();
    reading.stop();
    expect(asked[1]?.signal.aborted).toBe(true);
    asked[1]?.fail(new DOMException("Aborted", "AbortError"));
    await stopped;
    expect(failures.length).toBe(1);
    expect(asked.length).toBe(2);
  });
});
