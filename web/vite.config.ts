// How the page is built: into dist/page, which the server takes into its binary.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

const server = process.env.ARTEL_SERVER ?? "http://127.0.0.1:8787";
// Everything that is not the page is the server's.
const routes = ["/my", "/agents", "/admin", "/auth", "/health", "/ready", "/metrics", "/openapi.json", "/docs"];

export default defineConfig({
  base: "./",
  plugins: [svelte()],
  build: {
    outDir: "dist/page",
    emptyOutDir: true,
    target: "es2022",
    // No inline modules or data in scripts: the page runs under a strict Content-Security-Policy.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  server: {
    // The server answers only to its own name, and only to pages of its own origin.
    proxy: Object.fromEntries(
      routes.map((route) => [route, { target: server, changeOrigin: true, headers: { origin: server } }]),
    ),
  },
  // One worker for all: there is little to do, and less to start.
  test: { include: ["tests/unit/*.test.ts"], environment: "node", pool: "threads", maxWorkers: 1, isolate: false },
});
