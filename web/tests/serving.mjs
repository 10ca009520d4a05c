// The page and the server under one address: the page that the binary carries, or the one in the folder ARTEL_PAGE.
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, request } from "node:http";
import { extname, join, normalize, resolve } from "node:path";

const KINDS = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
/** What the binary says, too: nothing from elsewhere, and no script that is not a file of ours. */
export const POLICY = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/** With no folder named, a binary that carries a page serves it itself; one that was built without serves the page built here. */
export async function serve(server) {
  const named = process.env.ARTEL_PAGE;
  const front = named ? "" : await fetch(server).then((response) => response.text());
  if (front.includes("assets/")) return { url: server, close: async () => {} };
  const folder = resolve(named ?? join(import.meta.dirname, "../dist/page"));
  const target = new URL(server);
  const sockets = new Set();
  const http = createServer((incoming, outgoing) => {
    const path = normalize(new URL(incoming.url, server).pathname);
    const file = join(folder, path === "/" ? "index.html" : path);
    if (incoming.method === "GET" && file.startsWith(folder) && existsSync(file) && statSync(file).isFile()) {
      outgoing.writeHead(200, { "content-type": KINDS[extname(file)] ?? "application/octet-stream", "content-security-policy": POLICY });
      createReadStream(file).pipe(outgoing);
      return;
    }
    const headers = { ...incoming.headers, host: target.host };
    if (headers.origin) headers.origin = server;
    const passed = request({ host: target.hostname, port: target.port, method: incoming.method, path: incoming.url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
      answer.on("error", () => outgoing.destroy());
      answer.on("aborted", () => outgoing.destroy());
    });
    passed.on("error", () => {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end();
    });
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  http.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise((done) => http.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${http.address().port}`,
    close: () =>
      new Promise((done) => {
        http.close(done);
        for (const socket of sockets) socket.destroy();
      }),
  };
}
