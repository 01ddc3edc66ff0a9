// Stands in for a language model, so that the example runs without an account: it repeats what it
// was told to remember. Replace it with the chat model of a provider.

import { SimpleChatModel } from '@langchain/core/language_models/chat_models'
import type { BaseMessage } from '@langchain/core/messages'

export class RecallingModel extends SimpleChatModel {
  override _llmType(): string {
    return 'recalling-model'
  }

  override async _call(messages: BaseMessage[]): Promise<string> {
    const system = messages.filter((message) => message.type === 'system')
    const text = system.map((message) => message.text).join('\n')
    const [, lines = ''] = /<memories>\n([\s\S]*)\n<\/memories>/.exec(text) ?? []
    const known = lines.split('\n').filter((line) => line !== '')
    const said = known.map((line): string => JSON.parse(line).value.said)
    return said.length === 0 ? 'I know nothing yet.' : `You told me: ${said.join('; ')}`
  }
}
