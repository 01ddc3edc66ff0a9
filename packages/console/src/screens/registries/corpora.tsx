// Corpora: the sources of training data, sealed under one Merkle root.

import { call } from '@custos/client/core'
import {
  provenanceBlock,
  provenanceGet,
  provenanceList,
  provenanceProof,
  provenanceRegister,
  provenanceStats,
  provenanceVerify,
} from '@custos/client/operations'
import type { Corpus, ProvenanceProofReply } from '@custos/client/types'
import { useState } from 'react'
import { client } from '../../api/connection.ts'
import { useAction, useCall, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Id } from '../../parts/code.tsx'
import { counted } from '../../parts/display.tsx'
import { JsonDialog } from '../../parts/json-view.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState } from '../../parts/states.tsx'
import { MemberTable } from './members.tsx'
import { linesOf, objectOf, type RegistrySpec } from './registry.ts'

const SHOWN = 200

export const corpora: RegistrySpec<Corpus, Corpus> = {
  title: 'Corpora',
  about: 'Training data: its sources with their licences, sealed under one Merkle root.',
  admin: 'artifacts:admin',
  nameOf: ({ name }) => name,
  idOf: ({ corpus_id }) => corpus_id,
  columns: [
    { id: 'sources', header: 'Sources', numeric: true, cell: ({ source_count: n }) => n },
    { id: 'root', header: 'Merkle root', cell: (row) => <Id value={row.merkle_root} /> },
  ],
  useRows: () => useList(provenanceList, [usePage()], (reply) => reply.corpora),
  useCounts: () => useCall(provenanceStats, []).data,
  useOne: (id) => useCall(provenanceGet, [id]),
  verify: provenanceVerify,
  facts: (one) => [
    ['Sources', one.source_count],
    ['Merkle root', <Id key="r" value={one.merkle_root} />],
    ['Digest of the corpus', <Id key="c" value={one.corpus_hash} />],
  ],
  Members: Sources,
  register: {
    verb: 'Seal a corpus',
    fields: [
      { name: 'name', label: 'Name' },
      {
        name: 'sources',
        label: 'Sources',
        hint: 'One a line: id | licence | lawful basis; one of the two must be stated',
        kind: 'lines',
      },
      {
        name: 'attestations',
        label: 'Statements',
        hint: 'JSON',
        kind: 'json',
        initial: JSON.stringify({ representativeness: '', bias_examination: '' }, null, 2),
      },
    ],
    async send({ name = '', sources, attestations }) {
      const reply = await call(client, provenanceRegister, {
        name,
        sources: linesOf(sources).map(sourceOf),
        attestations: objectOf(attestations, 'Statements'),
      })
      return reply.corpus_id
    },
  },
}

function sourceOf(line: string) {
  const [id = '', license, basis] = line.split('|').map((part) => part.trim())
  return {
    id,
    ...(license ? { license } : {}),
    ...(basis ? { lawful_basis: basis } : {}),
  }
}

function Sources({ record }: { readonly record: Corpus }) {
  const { data, error } = useCall(provenanceBlock, [record.corpus_id])
  const [shown, setShown] = useState<ProvenanceProofReply | null>(null)
  const prove = useAction(provenanceProof)
  const open = async (source: string) => {
    setShown(await prove.mutateAsync([record.corpus_id, { source_id: source }]))
  }
  const ids = data?.sources ?? []
  return (
    <Section
      title="Sources"
      about={
        ids.length > SHOWN
          ? `The first ${SHOWN} of ${counted(ids.length, 'source')}`
          : 'In the order of the leaves. A proof shows one without the others.'
      }
    >
      {error && <ErrorState error={error} />}
      {prove.error && <ErrorState error={prove.error} />}
      <MemberTable
        label="Sources"
        headers={['Leaf', 'Id', 'Proof']}
        rows={ids.slice(0, SHOWN).map((source, i) => [
          source,
          [
            i,
            source,
            <Button
              key="p"
              aria-label={`Proof of ${source}`}
              onClick={() => void open(source).catch(() => undefined)}
            >
              Proof
            </Button>,
          ],
        ])}
      />
      <JsonDialog
        title={shown?.source_id ?? ''}
        value={shown}
        open={shown !== null}
        onClose={() => setShown(null)}
        signed
      />
    </Section>
  )
}
