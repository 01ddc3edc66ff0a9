// Stands in for a model server, in the form of chat completions, so that examples run without an
// account. Set MODEL_URL to the address of a real one, such as http://127.0.0.1:11434/v1.

import { createServer } from 'node:http'

interface ChatMessage {
  readonly role: string
  readonly content: string
}

interface ChatAnswer {
  readonly text: string
  readonly tokens_in: number
  readonly tokens_out: number
}

/** It answers with the first words of what it is told. */
export async function startLocalModel(): Promise<{ url: string; stop: () => void }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { messages } = JSON.parse(Buffer.concat(chunks).toString())
      const said: string = messages.map(({ content }: ChatMessage) => content).join('\n')
      const content = `${messages[0].content} ${said.split('\n').slice(1).join('; ')}`.slice(0, 500)
      const usage = { prompt_tokens: said.length, completion_tokens: content.length }
      const choices = [{ message: { role: 'assistant', content } }]
      response.end(JSON.stringify({ model: 'local-model', choices, usage }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return { url: `http://127.0.0.1:${port}/v1`, stop: () => server.close() }
}

export async function askModel(
  url: string,
  messages: readonly ChatMessage[],
  max_tokens: number,
): Promise<ChatAnswer> {
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local-model', messages, max_tokens }),
  })
  if (!response.ok) throw new Error(`the model answered ${response.status}`)
  const { choices, usage } = JSON.parse(await response.text())
  const { prompt_tokens: tokens_in, completion_tokens: tokens_out } = usage
  return { text: choices[0].message.content, tokens_in, tokens_out }
}
