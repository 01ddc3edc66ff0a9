// Policies in front of any tool of an agent: allowed, denied, or waiting for a person.

import type { Custos } from '@custos/client'
import { requireClient } from '../scope.ts'

export interface ApprovalOptions {
  readonly client: Custos
  /**
   * The operation that policies name; default: `tool_execution`, which policies of the types
   * `tool_deny` and `hitl_required` support. Your own operations begin with `custom.`.
   */
  readonly operation?: string | ((call: ToolCallView) => string)
}

interface ToolCallView {
  readonly toolName: string
  readonly input: unknown
}

async function evaluate(
  { client, operation = 'tool_execution' }: ApprovalOptions,
  { toolName, input }: ToolCallView,
  dry_run: boolean,
): Promise<
  { readonly type: 'allowed' } | { readonly type: 'denied' | 'escalated'; readonly reason: string }
> {
  const evaluation = await client.governance.evaluate({
    operation: typeof operation === 'string' ? operation : operation({ toolName, input }),
    context: { tool_name: toolName, content: JSON.stringify(input ?? {}) },
    dry_run,
  })
  const { verdict } = evaluation
  if (verdict === 'allowed') return { type: 'allowed' }
  const deciding = evaluation.evaluations.filter(({ result }) => result === verdict)
  const names = deciding.map(({ policy_name }) => policy_name).join(', ')
  const reason = `The tool ${toolName} is ${verdict} by policy: ${names}.`
  return { type: verdict, reason }
}

/**
 * A function for `toolApproval` of AI SDK 7. An allowed tool runs, a denied tool does not run and
 * the model gets the reason, an escalated tool waits for the approval of the user.
 */
export function custosApproval(options: ApprovalOptions) {
  requireClient('custosApproval', options)
  return async ({ toolCall }: { toolCall: ToolCallView }) => {
    const verdict = await evaluate(options, toolCall, false)
    if (verdict.type === 'allowed') return 'not-applicable' as const
    // Early releases of version 7 accept no reason with a request for approval.
    if (verdict.type === 'escalated') return 'user-approval' as const
    return { type: 'denied' as const, reason: verdict.reason }
  }
}

/** The members of a tool that the guard uses. */
interface GuardedTool {
  execute?: ((input: never, options: never) => unknown) | undefined
  needsApproval?: unknown
}

/**
 * The equivalent for AI SDK 6, which asks the tools: an escalated tool `needsApproval`, and a
 * denied tool throws the reason instead of running.
 */
export function custosGuard<Tools extends Record<string, GuardedTool>>(
  tools: Tools,
  options: ApprovalOptions,
): Tools {
  requireClient('custosGuard', options)
  const guarded = Object.entries(tools).map(([toolName, tool]) => {
    const { execute } = tool
    if (execute === undefined) return [toolName, tool]
    const needsApproval = async (input: unknown) =>
      (await evaluate(options, { toolName, input }, true)).type === 'escalated'
    const guardedExecute = async (input: never, context: never) => {
      const verdict = await evaluate(options, { toolName, input }, false)
      // An escalated tool runs only after its approval.
      if (verdict.type === 'denied') throw new Error(verdict.reason)
      return await execute(input, context)
    }
    return [toolName, { ...tool, needsApproval, execute: guardedExecute }]
  })
  return Object.fromEntries(guarded)
}
