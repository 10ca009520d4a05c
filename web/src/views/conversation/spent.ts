// What a conversation has taken: of its answers, and of the plans that made some of them.
import type { Message, PlanView } from "../../api/types";

export interface Spent {
  tokens: number;
  /** In US dollars. */
  cost: number;
  /** Something in it has no known price. */
  unpriced: boolean;
}

export function spent(messages: Message[], plans: PlanView[]): Spent {
  const total: Spent = { tokens: 0, cost: 0, unpriced: false };
  const known = new Set(plans.map((plan) => plan.id));
  for (const plan of plans) {
    total.cost += plan.actual_cost;
    total.unpriced ||= plan.unpriced;
    for (const task of plan.tasks) total.tokens += (task.usage?.input_tokens ?? 0) + (task.usage?.output_tokens ?? 0);
  }
  for (const { outcome } of messages) {
    const usage = outcome?.usage;
    // What a plan took is counted with the plan.
    if (!usage || (outcome.plan_id && known.has(outcome.plan_id))) continue;
    total.tokens += usage.input_tokens + usage.output_tokens;
    if (usage.cost === null || usage.cost === undefined) total.unpriced = true;
    else total.cost += usage.cost;
  }
  return total;
}
