// What was typed and not yet sent, by conversation: it outlives another view, a reload and an expired log-in.
const KEY = "artel.typed.";

export function keepTyped(session: string, text: string): void {
  try {
    if (text) sessionStorage.setItem(KEY + session, text);
    else sessionStorage.removeItem(KEY + session);
  } catch {
    // It is too long for the browser. What is in the field is still there.
  }
}

export function typedBefore(session: string): string {
  return sessionStorage.getItem(KEY + session) ?? "";
}
