// Starts the server of mcp.json as an MCP client does, saves a memory and finds it:
// `node remember.ts "The office opens at nine" "When does the office open?"`.

import { readFileSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const config = JSON.parse(readFileSync(new URL('mcp.json', import.meta.url), 'utf8'))
const client = new Client({ name: 'example', version: '1.0.0' })
await client.connect(new StdioClientTransport(config.mcpServers.custos))

const [content = 'The office opens at nine', query = content] = process.argv.slice(2)
await client.callTool({ name: 'memory_save', arguments: { content } })
const found = await client.callTool({ name: 'memory_search', arguments: { query } })
const { memories } = Object(found.structuredContent)
for (const memory of memories) console.log(`${memory.ref}: ${memory.content}`)

await client.close()
