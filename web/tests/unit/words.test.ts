// Small words: figures, diffs, forms, what was spent, and files.
import { describe, expect, it } from "vitest";
import type { Message, PlanView } from "../../src/api/types";
import { ApiError, remedy } from "../../src/api/errors";
import { address } from "../../src/api/client";
import { count, money, span } from "../../src/format";
import { lines } from "../../src/parts/diff";
import { matches } from "../../src/parts/matching";
import { BadForm, read, words, write } from "../../src/views/agents/form";
import { leftOut, LogLines, withGaps } from "../../src/views/agents/lines";
import { fileName, written } from "../../src/views/conversation/exporting";
import { spent } from "../../src/views/conversation/spent";

const usage = { model: "m", input_tokens: 10, cached_tokens: 0, output_tokens: 5, estimated: false, cost: 0.5 };

describe("figures", () => {
  it("are short", () => {
    expect([money(0), money(0.00001), money(0.5), money(12), money(null)]).toEqual(["$0", "<$0.0001", "$0.500", "$12.00", "no price"]);
    expect([span(0.4), span(59), span(61), span(3600), span(200_000)]).toEqual(["0.4 s", "59 s", "1 min 1 s", "1 h", "2 d"]);
    expect([count(999), count(12_345), count(2_500_000)]).toEqual(["999", "12.3k", "2.5M"]);
  });
});

describe("a diff", () => {
  it("is read line by line", () => {
    expect(lines("--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same\n").map((line) => [line.is, line.text])).toEqual([
      ["place", "--- a"], ["place", "+++ b"], ["place", "@@ -1 +1 @@"], ["removed", "old"], ["added", "new"], ["same", "same"],
    ]);
  });
});

describe("an agent's form", () => {
  it("gives back what it was given", () => {
    const config = { system_prompt: "p", model: "m", tools: ["t"], concurrency_limit: 2, temperature: 0.1, max_tokens: 9, max_vectors: 8, metadata: { role: "r", capabilities: ["a", "b"], risk_level: "LOW" as const, own: 1 } };
    expect(write(read(config), config)).toEqual(config);
  });

  it("writes a program, and says what is wrong", () => {
    const form = { ...read(null), kind: "line", command: "sh\n-c\nx", environment: "A=1\nB=x=y", options: '{"o": true}' };
    expect(write(form, null).runtime).toMatchObject({ kind: "line", command: ["sh", "-c", "x"], environment: { A: "1", B: "x=y" }, options: { o: true } });
    expect(() => write({ ...form, environment: "nonsense" }, null)).toThrow(BadForm);
    expect(() => write({ ...form, options: "{" }, null)).toThrow(BadForm);
    expect(words(" a, b,,a\nc")).toEqual(["a", "b", "c"]);
  });
});

describe("what was spent", () => {
  it("counts a plan once", () => {
    const messages = [{ outcome: { success: true, usage } }, { outcome: { success: true, usage, plan_id: "p" } }, {}] as unknown as Message[];
    const plans = [{ id: "p", actual_cost: 2, unpriced: false, tasks: [{ usage }, { usage: null }] }] as unknown as PlanView[];
    expect(spent(messages, plans)).toEqual({ tokens: 30, cost: 2.5, unpriced: false });
  });
});

describe("the rest", () => {
  it("finds by words in any order", () => {
    expect(matches("Agent Smith", "smi AG")).toBe(true);
    expect(matches("Agent Smith", "jones")).toBe(false);
  });

  it("fills addresses", () => {
    expect(address("/a/{x}/b", { x: "ü/1" }, { q: "1 2", none: undefined, empty: "" })).toBe("/a/%C3%BC%2F1/b?q=1+2");
  });

  it("says what to do about errors", () => {
    expect(remedy(new ApiError(0, "unreachable", ""))).toMatch(/server runs/);
    expect(remedy(new ApiError(500, "odd", ""))).toMatch(/log/);
    expect(remedy(new Error("x"))).toBeNull();
  });

  it("writes a conversation as Markdown", () => {
    const messages = [{ role: "user", content: "hi", timestamp: "t" }, { role: "assistant", content: "", agent_id: "a", timestamp: "u", outcome: { success: false, error: "broke" } }] as unknown as Message[];
    expect(written("T", messages, () => "coder")).toBe("# T\n\n## You, t\n\nhi\n\n## coder, u\n\n> broke\n\n\n");
    expect(fileName("Что? / так!")).toBe("Что-так");
    expect(fileName("///")).toBe("conversation");
  });

  it("holds the newest lines of a log", () => {
    const log = new LogLines(10);
    for (let number = 1; number <= 100; number += 1) log.add({ number, line: "", stream: "stdout", timestamp: "" });
    expect(log.all().map((line) => line.number)).toEqual([91, 92, 93, 94, 95, 96, 97, 98, 99, 100]);
  });

  it("tells what is missing in a log, and closes gaps with what comes late", () => {
    const log = new LogLines();
    const add = (...numbers: number[]) => numbers.forEach((number) => log.add({ number, line: `${number}`, stream: "stdout", timestamp: "" }));
    const told = () => withGaps(log.all()).map((row) => ("left" in row ? `${row.left} from ${row.number}` : row.line));
    add(5, 6, 7);
    expect(told()).toEqual(["5", "6", "7"]);
    add(10, 20);
    expect(told()).toEqual(["5", "6", "7", "2 from 8", "10", "9 from 11", "20"]);
    expect(leftOut(log.all())).toBe(11);
    add(19, 20, 21, 22, 20, 9);
    add(23);
    expect(told()).toEqual(["5", "6", "7", "1 from 8", "9", "10", "8 from 11", "19", "20", "21", "22", "23"]);
    expect(leftOut([])).toBe(0);
  });
});
