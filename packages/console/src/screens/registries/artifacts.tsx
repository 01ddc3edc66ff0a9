// Artifacts: models and adapters by the digests of their layers.

import { call } from '@custos/client/core'
import {
  artifactsCertify,
  artifactsGet,
  artifactsList,
  artifactsRegister,
  artifactsStats,
  artifactsVerify,
} from '@custos/client/operations'
import type { Artifact } from '@custos/client/types'
import { BadgeCheck } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/connection.ts'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock, Id } from '../../parts/code.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, TextField } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState } from '../../parts/states.tsx'
import { Layers } from './members.tsx'
import { linesOf, objectOf, type RegistrySpec } from './registry.ts'

export const artifacts: RegistrySpec<Artifact, Artifact> = {
  title: 'Artifacts',
  about: 'Models and adapters, identified by the digests of their layers.',
  admin: 'artifacts:admin',
  nameOf: ({ artifact_ref }) => artifact_ref,
  idOf: ({ artifact_id }) => artifact_id,
  columns: [
    { id: 'base', header: 'Base model', cell: ({ base_model_ref }) => base_model_ref },
    { id: 'kind', header: 'Kind', cell: ({ kind }) => kind },
    { id: 'layers', header: 'Layers', numeric: true, cell: (row) => row.layer_hashes.length },
  ],
  useRows: () => useList(artifactsList, [usePage()], (reply) => reply.artifacts),
  useCounts: () => useCall(artifactsStats, []).data,
  useOne: (id) => useCall(artifactsGet, [id]),
  verify: artifactsVerify,
  facts: (one) => [
    ['Base model', one.base_model_ref],
    ['Kind', one.kind],
    ['Digest of the manifest', <Id key="m" value={one.manifest_digest} />],
    ['Certificate', one.certificate_id && <Id key="c" value={one.certificate_id} />],
  ],
  Members: ({ record }) => (
    <>
      <Layers hashes={record.layer_hashes} />
      {Object.keys(record.metadata).length > 0 && (
        <Section title="Metadata">
          <CodeBlock label="Metadata" text={JSON.stringify(record.metadata, null, 2)} />
        </Section>
      )}
    </>
  ),
  Acts: Certify,
  register: {
    verb: 'Register an artifact',
    fields: [
      { name: 'ref', label: 'Name', hint: 'For example adapters/support' },
      { name: 'base', label: 'Base model', hint: 'For example models/base-7b' },
      { name: 'kind', label: 'Kind', initial: 'lora' },
      {
        name: 'layers',
        label: 'Digests of the layers',
        hint: 'SHA-256, one a line, in order',
        kind: 'lines',
      },
      { name: 'metadata', label: 'Metadata', hint: 'JSON', kind: 'json', optional: true },
    ],
    async send({ ref = '', base = '', kind = '', layers, metadata }) {
      const reply = await call(client, artifactsRegister, {
        artifact_ref: ref,
        base_model_ref: base,
        kind,
        layers: linesOf(layers).map((digest) => ({ digest })),
        ...(metadata ? { metadata: objectOf(metadata, 'Metadata') } : {}),
      })
      return 'detail' in reply ? reply.detail.artifact_id : reply.artifact_id
    },
  },
}

function Certify({ record }: { readonly record: Artifact }) {
  const { can } = useSession()
  const [open, setOpen] = useState(false)
  const [certificate, setCertificate] = useState('')
  const certify = useAction(artifactsCertify)
  if (record.status !== 'registered' || !can('artifacts:admin')) return null
  const submit = async () => {
    await certify.mutateAsync([record.artifact_id, { certificate_id: certificate.trim() }])
    setOpen(false)
  }
  return (
    <>
      <Button icon={BadgeCheck} onClick={() => setOpen(true)}>
        Certify
      </Button>
      <Dialog title="Certify the artifact" open={open} onClose={() => setOpen(false)}>
        <Form onSubmit={() => submit().catch(() => undefined)}>
          <TextField
            label="Id of the landing certificate"
            hint="An issued certificate of the same layers"
            value={certificate}
            onChange={setCertificate}
          />
          {certify.error && <ErrorState error={certify.error} />}
          <Button
            type="submit"
            kind="primary"
            busy={certify.isPending}
            disabled={certificate.trim() === ''}
          >
            Certify
          </Button>
        </Form>
      </Dialog>
    </>
  )
}
