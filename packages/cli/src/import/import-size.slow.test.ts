// An export of ChatGPT of 100 MB is imported in little memory.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createWriteStream, statSync } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { test } from 'node:test'
import { spawnCustos, tempDirectory } from '../testing/run.ts'
import { serveLocally } from '../testing/serve-locally.ts'

const FILE_BYTES = 100_000_000
const RSS_KB_MAX = 200 * 1024
const TURNS = 40
const REPORT =
  'process.on("exit",()=>process.stderr.write("maxrss="+process.resourceUsage().maxRSS))'

/** A conversation of questions and long answers, and the size of its text. */
function conversation(n: number): string {
  const mapping: Record<string, object> = {}
  for (let i = 0; i < TURNS; i += 1) {
    const role = i % 2 === 0 ? 'user' : 'assistant'
    const text = role === 'user' ? `Question ${n}/${i}: when?` : `Answer ${i}. `.repeat(220)
    mapping[`${n}-${i}`] = {
      id: `${n}-${i}`,
      parent: i === 0 ? null : `${n}-${i - 1}`,
      message: {
        id: `${n}-${i}`,
        author: { role },
        content: { content_type: 'text', parts: [text] },
        create_time: 1_735_689_600 + n + i / 100,
      },
    }
  }
  const current_node = `${n}-${TURNS - 1}`
  return JSON.stringify({ id: `c-${n}`, title: `Talk ${n}`, current_node, mapping })
}

async function writeExport(path: string): Promise<number> {
  const file = createWriteStream(path)
  let conversations = 0
  file.write('[')
  for (let bytes = 0; bytes < FILE_BYTES; conversations += 1) {
    const text = `${conversations === 0 ? '' : ','}${conversation(conversations)}`
    bytes += text.length
    if (!file.write(text)) await once(file, 'drain')
  }
  file.end(']')
  await finished(file)
  return conversations
}

test('an export of ChatGPT of 100 MB is imported within 200 MB of memory', async (t) => {
  const { url } = await serveLocally(t)
  const file = join(tempDirectory(), 'conversations.json')
  const conversations = await writeExport(file)
  assert.ok(statSync(file).size >= FILE_BYTES)
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(REPORT)}` }
  const ran = await spawnCustos(['import', '--from', 'chatgpt', file, '--url', url], { env })
  assert.equal(ran.status, 0, ran.stderr)
  assert.match(ran.stdout, new RegExp(`^${(conversations * TURNS) / 2} memories imported`))
  const rss = Number(/maxrss=(\d+)/.exec(ran.stderr)?.[1])
  t.diagnostic(`${rss} KB`)
  assert.ok(rss > 0 && rss <= RSS_KB_MAX, `${rss} KB of memory`)
})
