// A model of the AI SDK that follows a script: the network is the only part that is not real.

import { MockLanguageModelV4 } from 'ai/test'

type Generate = Extract<MockLanguageModelV4['doGenerate'], (...args: never) => unknown>
type Prompt = Parameters<Generate>[0]['prompt']

export interface ScriptedCall {
  readonly tool: string
  readonly input: object
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 3, text: 3, reasoning: undefined },
}

/** Each call of the model takes the next line: a text, or a tool call. */
export function scriptedModel(
  lines: readonly (string | ScriptedCall | ((prompt: Prompt) => string | ScriptedCall))[],
): MockLanguageModelV4 {
  let at = 0
  return new MockLanguageModelV4({
    modelId: 'scripted',
    doGenerate: async ({ prompt }) => {
      const line = lines[at]
      if (line === undefined) throw new Error(`the script has ${lines.length} lines`)
      at += 1
      const said = typeof line === 'function' ? line(prompt) : line
      if (typeof said === 'string')
        return {
          content: [{ type: 'text', text: said }],
          finishReason: { unified: 'stop', raw: undefined },
          usage,
          warnings: [],
        }
      const { tool: toolName, input } = said
      const call = { type: 'tool-call', toolCallId: `call-${at}`, toolName } as const
      return {
        content: [{ ...call, input: JSON.stringify(input) }],
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage,
        warnings: [],
      }
    },
  })
}

/** The system parts of a prompt, joined. */
export const systemText = (prompt: Prompt): string =>
  prompt.flatMap((part) => (part.role === 'system' ? [part.content] : [])).join('\n')
