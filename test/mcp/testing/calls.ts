// What the tests do with an MCP client of either protocol era.

export const INFO = { name: 'test', version: '1' }

export interface AnyClient {
  listTools(): Promise<{ tools: { name: string; inputSchema: object }[] }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

/** The result of a tool: its data, its text, and whether it is an error. */
export async function called(client: AnyClient, name: string, args: Record<string, unknown>) {
  const { structuredContent, content, isError, _meta } = Object(
    await client.callTool({ name, arguments: args }),
  )
  const error = Object(_meta)['custos/error']
  return {
    data: structuredContent,
    text: String(content[0].text),
    failed: isError === true,
    error: Object(error),
  }
}

export const namesOf = async (client: AnyClient): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name)
