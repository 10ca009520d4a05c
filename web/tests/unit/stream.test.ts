// Frames out of pieces of text that are cut anywhere.
import { describe, expect, it } from "vitest";
import { Parser } from "../../src/api/stream";

const TEXT = 'id: 7\nevent: a\ndata: {"x":"é🛠️"}\n\n: a word between\r\n\r\nevent: b\r\ndata: one\r\ndata: two\r\n\r\ndata:bare\n\n';
const FRAMES = [
  { id: "7", event: "a", data: '{"x":"é🛠️"}' },
  { id: null, event: "b", data: "one\ntwo" },
  { id: null, event: "message", data: "bare" },
];

describe("Parser", () => {
  it("reads frames", () => {
    expect(new Parser().push(TEXT)).toEqual(FRAMES);
  });

  it("reads the same however it is cut", () => {
    for (let size = 1; size < 12; size += 1) {
      const parser = new Parser();
      const found = [];
      for (let at = 0; at < TEXT.length; at += size) found.push(...parser.push(TEXT.slice(at, at + size)));
      expect(found).toEqual(FRAMES);
    }
  });

  it("keeps what is not whole yet", () => {
    expect(new Parser().push("id: 1\nevent: x\ndata: half")).toEqual([]);
  });
});
