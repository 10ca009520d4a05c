// One way to ask the server, typed by its own description.
import { ApiError, isAbort, refusal, unreachable } from "./errors";
import type { paths } from "./schema";

type Method = "get" | "post" | "put" | "patch" | "delete";
type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M & keyof paths[P]]>;
type JsonOf<T> = T extends { content: { "application/json": infer Body } } ? Body : undefined;
type Good<R> = { [S in keyof R & (200 | 201 | 202 | 204)]: JsonOf<R[S]> }[keyof R & (200 | 201 | 202 | 204)];
type Answer<O> = O extends { responses: infer R } ? Good<R> : never;
type Taken<O> = O extends { requestBody?: infer B } ? JsonOf<NonNullable<B>> : undefined;
type PathOf<O> = O extends { parameters: { path: infer P } } ? P : Record<string, never>;
type QueryOf<O> = O extends { parameters: { query?: infer Q } } ? Q : never;

export interface Ask<O> {
  path?: PathOf<O>;
  query?: QueryOf<O>;
  body?: Taken<O>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

type WithMethod<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [K in M]: object } ? P : never;
}[keyof paths] &
  string;

interface Credentials {
  token: string | null;
  /** The server knows the token no more. */
  expired: () => void;
}

const credentials: Credentials = { token: null, expired: () => {} };

export function useToken(token: string | null, expired: () => void): void {
  credentials.token = token;
  credentials.expired = expired;
}

/** How often a busy server is asked again, and how long is waited for it at most. */
const PATIENCE = { times: 3, seconds: 70 };

/** A request as it is; anything but success is an ApiError. */
export async function raw(method: string, url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (credentials.token) headers.set("authorization", `Bearer ${credentials.token}`);
  headers.set("x-artel-from", "web");
  for (let attempt = 0; ; attempt += 1) {
    const response = await fetch(url, { ...init, method: method.toUpperCase(), headers, cache: "no-store" }).catch((error: unknown) => {
      throw isAbort(error) ? error : unreachable();
    });
    if (response.ok) return response;
    const error = await refusal(response);
    const again = response.status === 429 && attempt < PATIENCE.times && error.retryAfter !== null;
    if (again && error.retryAfter !== null && error.retryAfter <= PATIENCE.seconds) {
      await pause(error.retryAfter * 1000, init.signal ?? undefined);
      continue;
    }
    if (response.status === 401 && credentials.token) credentials.expired();
    throw error;
  }
}

async function ask<P extends keyof paths, M extends Method>(
  method: M,
  path: P,
  options: Ask<Operation<P, M>> = {},
): Promise<Answer<Operation<P, M>>> {
  const headers: Record<string, string> = { accept: "application/json", ...options.headers };
  const init: RequestInit = { headers, signal: options.signal ?? null };
  if (options.body !== undefined) {
    headers["content-type"] = "application/json";
    init.body = JSON.stringify(options.body);
  }
  const url = address(path as string, options.path as Record<string, unknown>, options.query as Record<string, unknown>);
  const response = await raw(method, url, init);
  if (response.status === 204) return undefined as Answer<Operation<P, M>>;
  return (await response.json()) as Answer<Operation<P, M>>;
}

/** Fills a path's holes and adds what is asked for. */
export function address(path: string, holes: Record<string, unknown> = {}, query: Record<string, unknown> = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(holes[name])));
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  if (asked.length === 0) return filled;
  return `${filled}?${new URLSearchParams(asked.map(([name, value]) => [name, String(value)]))}`;
}

export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("Aborted", "AbortError"));
    });
  });
}

/** The same request under the same key is handled once, however often the network makes us send it. */
export function once(): Record<string, string> {
  return { "idempotency-key": crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` };
}

export const api = {
  get: <P extends WithMethod<"get">>(path: P, options?: Ask<Operation<P, "get">>) => ask("get", path, options),
  post: <P extends WithMethod<"post">>(path: P, options?: Ask<Operation<P, "post">>) => ask("post", path, options),
  put: <P extends WithMethod<"put">>(path: P, options?: Ask<Operation<P, "put">>) => ask("put", path, options),
  patch: <P extends WithMethod<"patch">>(path: P, options?: Ask<Operation<P, "patch">>) => ask("patch", path, options),
  delete: <P extends WithMethod<"delete">>(path: P, options?: Ask<Operation<P, "delete">>) => ask("delete", path, options),
};

/** Everything of a list that comes in pages, up to a bound. */
export async function all<T>(
  page: (limit: number, offset: number) => Promise<{ items: T[]; total: number }>,
  most = 2000,
): Promise<T[]> {
  const items: T[] = [];
  for (;;) {
    const next = await page(100, items.length);
    items.push(...next.items);
    if (next.items.length === 0 || items.length >= next.total || items.length >= most) return items;
  }
}

export { ApiError };
