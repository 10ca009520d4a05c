// The server's nouns, by the names that the page calls them.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Me = Schemas["Me"];
export type Project = Schemas["Project"];
export type Agent = Schemas["Agent"];
export type AgentConfig = Schemas["AgentConfig"];
export type AgentStatusView = Schemas["AgentStatusView"];
export type AgentMetrics = Schemas["AgentMetrics"];
export type Session = Schemas["Session"];
export type Message = Schemas["Message"];
export type Usage = Schemas["Usage"];
export type Task = Schemas["Task"];
export type Plan = Schemas["Plan"];
export type PlanView = Schemas["PlanView"];
export type PlanTask = Schemas["PlanTask"];
export type PlanGraph = Schemas["PlanGraph"];
export type PlanStatus = Schemas["PlanStatus"];
export type Approval = Schemas["Approval"];
export type Range = Schemas["Range"];
export type RiskLevel = Schemas["RiskLevel"];
export type ProcessView = Schemas["ProcessView"];
export type RuntimeView = Schemas["RuntimeView"];
export type Interaction = Schemas["Interaction"];
export type Recollection = Schemas["Recollection"];
export type MemoryStats = Schemas["MemoryStats"];
export type InteractionType = Schemas["InteractionType"];
export type SpaceView = Schemas["SpaceView"];
export type Spending = Schemas["Spending"];
export type Spent = Schemas["Spent"];
export type AlertView = Schemas["AlertView"];
export type ModelService = Schemas["ModelService"];
export type LogLine = Schemas["LogLine"];
export type AvailableTool = Schemas["AvailableTool"];
export type ToolCall = Schemas["ToolCall"];
export type Client = Schemas["Client"];
export type ServerHealth = Schemas["ServerHealth"];
export type SpaceHealth = Schemas["Health"];

/** A numbered event, or a signal without a number. */
export interface Envelope {
  id?: number;
  event_type: string;
  payload: Record<string, unknown>;
  timestamp: string;
  session_id: string | null;
}
