// A support bot that keeps notes on customers, forgets one of them, and shows the certificates.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Custos } from '@custos/client'
import { readSettings } from '../settings.ts'

const folder = process.argv[2] ?? 'certificates'
const custos = new Custos(readSettings())
const notesOn = (customer: string) => custos.memoryOf({ store: 'default', namespace: customer })

await notesOn('ana').remember('Ana ordered a red bicycle')
await notesOn('ana').remember('Ana wants calls after six')
await notesOn('ben').remember('Ben returned a helmet')

// Ana asks to be forgotten: each note of hers is erased, and each erasure has a certificate.
mkdirSync(folder, { recursive: true })
for await (const { ref } of custos.memory.memories.all('default', { namespace: 'ana' })) {
  const { certificate_id } = await custos.erasure.issue({
    fact_ref: ref,
    store_id: 'default',
    requested_by: 'data_subject',
  })
  const certificate = await custos.erasure.get(certificate_id)
  writeFileSync(join(folder, `${certificate_id}.json`), JSON.stringify(certificate))
  console.log(`erased note ${ref}: ${certificate_id}`)
}
writeFileSync(join(folder, 'keys.json'), JSON.stringify(await custos.gcrumbs.publicKey()))

const left = await custos.memory.retrieve('default', { query: 'bicycle', namespace: 'ana' })
const others = await custos.memory.retrieve('default', { query: 'helmet', namespace: 'ben' })
console.log(`notes left on ana: ${left.memories.length}, on ben: ${others.memories.length}`)
