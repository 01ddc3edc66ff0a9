// Stands in for a language model, so that the example runs without an account: it repeats what it
// was told to remember. Replace it with the model of a provider, for example `openai('gpt-5')`.

import { MockLanguageModelV4 } from 'ai/test'

export const recallingModel = new MockLanguageModelV4({
  modelId: 'recalling-model',
  doGenerate: async ({ prompt }) => {
    const system = prompt.flatMap((part) => (part.role === 'system' ? [part.content] : []))
    const [, lines = ''] = /<memories>\n([\s\S]*)\n<\/memories>/.exec(system.join('\n')) ?? []
    const memories = lines.split('\n').filter((line) => line !== '')
    const contents = memories.map((line): string => JSON.parse(line).content)
    const text =
      contents.length === 0 ? 'I know nothing yet.' : `You told me: ${contents.join('; ')}`
    return {
      content: [{ type: 'text', text }],
      finishReason: { unified: 'stop', raw: undefined },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 1, text: 1, reasoning: undefined },
      },
      warnings: [],
    }
  },
})
