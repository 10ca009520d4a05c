// Whether a text is what somebody means with a few letters: every word of theirs stands in it.

export function matches(text: string, wanted: string): boolean {
  const whole = text.toLocaleLowerCase();
  return wanted.toLocaleLowerCase().split(/\s+/).every((word) => whole.includes(word));
}
