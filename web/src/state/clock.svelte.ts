// The time, once a second, as the server sees it.

class Clock {
  now = $state(Date.now());
  /** How far the server's clock is ahead of this machine's, in milliseconds. */
  private ahead = 0;

  constructor() {
    setInterval(() => {
      this.now = Date.now() + this.ahead;
    }, 1000);
  }

  /** The server says what time it is; what travels a while is no difference. */
  learn(timestamp: string): void {
    const difference = Date.parse(timestamp) - Date.now();
    if (!Number.isFinite(difference)) return;
    this.ahead = Math.abs(difference) > 2000 ? difference : 0;
  }
}

export const clock = new Clock();
