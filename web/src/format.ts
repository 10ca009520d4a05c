// Figures and times as people read them.
import type { Range } from "./api/types";

export function money(dollars: number | null | undefined): string {
  if (dollars === null || dollars === undefined) return "no price";
  if (dollars === 0) return "$0";
  if (dollars < 0.0001) return "<$0.0001";
  return `$${dollars.toFixed(dollars < 0.01 ? 4 : dollars < 1 ? 3 : 2)}`;
}

export function moneyRange(range: Range, unpriced = false): string {
  const text = range.min === range.max ? money(range.max) : `${money(range.min)} – ${money(range.max)}`;
  return unpriced ? `${text} + unpriced` : text;
}

export function count(number: number): string {
  if (number < 10_000) return String(number);
  if (number < 1_000_000) return `${(number / 1000).toFixed(number < 100_000 ? 1 : 0)}k`;
  return `${(number / 1_000_000).toFixed(1)}M`;
}

/** So many of something: 1 message, 2 messages. */
export function plural(number: number, word: string): string {
  return `${count(number)} ${number === 1 ? word : `${word}s`}`;
}

export function bytes(number: number): string {
  if (number < 1024) return `${number} B`;
  if (number < 1024 ** 2) return `${(number / 1024).toFixed(1)} KiB`;
  if (number < 1024 ** 3) return `${(number / 1024 ** 2).toFixed(1)} MiB`;
  return `${(number / 1024 ** 3).toFixed(2)} GiB`;
}

/** A span of seconds: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min, 3 d. */
export function span(seconds: number): string {
  if (seconds < 0) return "0 s";
  if (seconds < 10 && seconds % 1 !== 0) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const [minutes, hours] = [Math.floor(whole / 60), Math.floor(whole / 3600)];
  if (minutes < 60) return whole % 60 ? `${minutes} min ${whole % 60} s` : `${minutes} min`;
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.floor(hours / 24)} d`;
}

export function spanRange(range: Range): string {
  return range.min === range.max ? span(range.max) : `${span(range.min)} – ${span(range.max)}`;
}

export function time(timestamp: string): string {
  const date = new Date(timestamp);
  const today = new Date().toDateString() === date.toDateString();
  const clock = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return today ? clock : `${date.toLocaleDateString([], { day: "numeric", month: "short" })}, ${clock}`;
}

export function ago(timestamp: string, now: number): string {
  const seconds = (now - Date.parse(timestamp)) / 1000;
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  return time(timestamp);
}

/** Words of the wire as words of people: waiting_approval → waiting for approval. */
export function label(word: string): string {
  const known: Record<string, string> = {
    waiting_approval: "waiting for you",
    partial_success: "partly done",
    outcome_unknown: "outcome unknown",
    waiting_tool: "waiting for a tool",
    at_capacity: "queue full",
    task_execution: "task",
    execution: "failed",
    configuration: "not configured",
    tool_call: "tool call",
    user_message: "user message",
    agent_response: "agent response",
  };
  return known[word] ?? word.replaceAll("_", " ").toLowerCase();
}

/** How a state looks: which of the few colours it has. */
export function tone(word: string): "good" | "bad" | "busy" | "wait" | "quiet" {
  switch (word.toLowerCase()) {
    case "completed":
    case "ready":
    case "approved":
    case "succeeded":
    case "healthy":
    case "ok":
    case "running":
      return "good";
    case "failed":
    case "error":
    case "crashed":
    case "killed":
    case "unhealthy":
    case "rejected":
    case "timeout":
    case "outcome_unknown":
    case "quota":
      return "bad";
    case "executing":
    case "processing":
    case "busy":
    case "starting":
    case "stopping":
      return "busy";
    case "waiting_approval":
    case "pending":
    case "partial_success":
    case "degraded":
    case "queued":
    case "at_capacity":
    case "not_logged_in":
      return "wait";
    default:
      return "quiet";
  }
}
