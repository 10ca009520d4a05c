// What stands in the form of an agent, and the configuration that it means.
import type { AgentConfig } from "../../api/types";

export type Sandbox = "" | "none" | "bubblewrap" | "docker";

export interface Form {
  system_prompt: string;
  model: string;
  /** Empty: a model behind an API. */
  kind: string;
  tools: string[];
  role: string;
  capabilities: string;
  risk_level: "LOW" | "MEDIUM" | "HIGH";
  concurrency_limit: number;
  temperature: number;
  max_tokens: number;
  max_vectors: number;
  command: string;
  program_model: string;
  sandbox: Sandbox;
  workspace: string;
  unattended: boolean;
  network: boolean;
  ttl: number;
  idle: number;
  memory: number;
  environment: string;
  options: string;
}

export function read(config: Partial<AgentConfig> | null): Form {
  const runtime = config?.runtime;
  return {
    system_prompt: config?.system_prompt ?? "",
    model: config?.model ?? "gpt-4",
    kind: runtime?.kind ?? "",
    tools: [...(config?.tools ?? [])],
    role: config?.metadata?.role ?? "",
    capabilities: (config?.metadata?.capabilities ?? []).join(", "),
    risk_level: config?.metadata?.risk_level ?? "MEDIUM",
    concurrency_limit: config?.concurrency_limit ?? 3,
    temperature: config?.temperature ?? 0.7,
    max_tokens: config?.max_tokens ?? 4096,
    max_vectors: config?.max_vectors ?? 1_000_000,
    command: (runtime?.command ?? []).join("\n"),
    program_model: runtime?.model ?? "",
    sandbox: (runtime?.sandbox ?? "") as Sandbox,
    workspace: runtime?.workspace ?? "",
    unattended: runtime?.unattended ?? false,
    network: runtime?.network ?? true,
    ttl: runtime?.ttl ?? 7200,
    idle: runtime?.idle ?? 1800,
    memory: runtime?.memory ?? 4096,
    environment: Object.entries(runtime?.environment ?? {}).map(([name, value]) => `${name}=${value}`).join("\n"),
    options: runtime?.options && Object.keys(runtime.options).length > 0 ? JSON.stringify(runtime.options, null, 2) : "",
  };
}

export class BadForm extends Error {}

/** The configuration that a form means. What the form does not know of the one before stays. */
export function write(form: Form, before: Partial<AgentConfig> | null): AgentConfig {
  const metadata: AgentConfig["metadata"] = {
    ...(before?.metadata ?? {}),
    capabilities: words(form.capabilities),
    risk_level: form.risk_level,
  };
  if (form.role.trim()) metadata.role = form.role.trim();
  else delete metadata.role;
  const config = {
    system_prompt: form.system_prompt,
    model: form.model.trim(),
    tools: form.tools,
    concurrency_limit: form.concurrency_limit,
    temperature: form.temperature,
    max_tokens: form.max_tokens,
    max_vectors: form.max_vectors,
    metadata,
  } as AgentConfig;
  if (form.kind) config.runtime = runtime(form);
  return config;
}

function runtime(form: Form): NonNullable<AgentConfig["runtime"]> {
  const made: Record<string, unknown> = {
    kind: form.kind,
    unattended: form.unattended,
    network: form.network,
    ttl: form.ttl,
    idle: form.idle,
    memory: form.memory,
  };
  const command = form.command.split("\n").map((line) => line.trim()).filter(Boolean);
  if (command.length > 0) made.command = command;
  if (form.program_model.trim()) made.model = form.program_model.trim();
  if (form.sandbox) made.sandbox = form.sandbox;
  if (form.workspace.trim()) made.workspace = form.workspace.trim();
  const environment = variables(form.environment);
  if (Object.keys(environment).length > 0) made.environment = environment;
  if (form.options.trim()) made.options = json(form.options);
  return made as NonNullable<AgentConfig["runtime"]>;
}

export function words(text: string): string[] {
  return [...new Set(text.split(/[,\n]/).map((word) => word.trim()).filter(Boolean))];
}

function variables(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      if (at < 1) throw new BadForm(`Environment: "${line}" is not NAME=value`);
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BadForm("Options are not valid JSON");
  }
}
