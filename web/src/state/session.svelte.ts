// Who is logged in, and with what.
import { api, useToken } from "../api/client";
import { ApiError } from "../api/errors";
import type { Me } from "../api/types";

const KEY = "artel.token";

class Session {
  token = $state<string | null>(localStorage.getItem(KEY));
  me = $state.raw<Me | null>(null);
  /** Why the person has to log in again. */
  reason = $state<string | null>(null);
  error = $state.raw<unknown>(null);
  busy = $state(false);

  constructor() {
    useToken(this.token, () => this.expire());
    // Another tab of this browser logged in or out.
    addEventListener("storage", (event) => {
      if (event.key !== KEY) return;
      this.take(event.newValue);
      if (event.newValue) void this.load();
    });
  }

  /** Comes in by the link of `artel up`, by the token that is kept, or not at all. */
  async begin(): Promise<void> {
    const ticket = /[#&]ticket=([^&]+)/.exec(location.hash)?.[1];
    if (ticket) {
      // It is a secret, and spent: it must not stay in the address or the history.
      history.replaceState(null, "", `${location.pathname}#/`);
      dispatchEvent(new HashChangeEvent("hashchange"));
      await this.enter(() => api.post("/auth/ticket", { body: { ticket: decodeURIComponent(ticket) } }));
    } else if (this.token) {
      await this.load();
    }
  }

  async logIn(username: string, password: string): Promise<void> {
    await this.enter(() => api.post("/auth/login", { body: { username, password } }));
  }

  logOut(): void {
    localStorage.removeItem(KEY);
    // What was typed is nobody else's to see.
    sessionStorage.clear();
    this.reason = null;
    this.take(null);
  }

  private async enter(get: () => Promise<{ access_token: string }>): Promise<void> {
    this.busy = true;
    this.error = null;
    try {
      const { access_token } = await get();
      localStorage.setItem(KEY, access_token);
      this.reason = null;
      this.take(access_token);
      await this.load();
    } catch (error) {
      this.error = error;
    } finally {
      this.busy = false;
    }
  }

  async load(): Promise<void> {
    try {
      this.me = await api.get("/my/me");
      this.error = null;
    } catch (error) {
      // A token that is refused has been dealt with; a server that is away is not a reason to log in again.
      if (!(error instanceof ApiError && error.status === 401)) this.error = error;
    }
  }

  private expire(): void {
    if (!this.token) return;
    localStorage.removeItem(KEY);
    this.reason = "Your log-in has ended. Log in again; nothing is lost.";
    this.take(null);
  }

  private take(token: string | null): void {
    this.token = token;
    if (!token) this.me = null;
    useToken(token, () => this.expire());
  }
}

export const session = new Session();
