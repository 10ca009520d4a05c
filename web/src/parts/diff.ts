// A unified diff, read.

export interface Line {
  is: "added" | "removed" | "same" | "place";
  sign: string;
  text: string;
}

export function lines(diff: string): Line[] {
  return diff.replace(/\n$/, "").split("\n").map((line): Line => {
    if (line.startsWith("+++") || line.startsWith("---") || line.startsWith("@@") || line.startsWith("\\")) return { is: "place", sign: "", text: line };
    if (line.startsWith("+")) return { is: "added", sign: "+", text: line.slice(1) };
    if (line.startsWith("-")) return { is: "removed", sign: "−", text: line.slice(1) };
    return { is: "same", sign: "", text: line.replace(/^ /, "") };
  });
}
