// One certificate: what was erased, where the service looked for remains, and its signature.

import type { FileReply } from '@custos/client'
import { call } from '@custos/client/core'
import { erasureGet, gcrumbsProof, gcrumbsPublicKey, gcrumbsStats } from '@custos/client/operations'
import type { Certificate } from '@custos/client/types'
import { useParams } from '@tanstack/react-router'
import { client } from '../../api/connection.ts'
import { useSession } from '../../api/session.tsx'
import { useCall } from '../../api/use-call.ts'
import { Id } from '../../parts/code.tsx'
import { Facts, inWords, Pill } from '../../parts/display.tsx'
import { VerifyHere } from '../../parts/json-view.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { fileOf, jsonFile, SaveButton, type SavedFile } from '../../parts/save-button.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import css from './erasure.module.css'

const OUTCOMES = {
  erased: ['good', 'It was stored and is gone.'],
  already_absent: ['plain', 'Only decisions held it; they were redacted.'],
  nothing_found: ['plain', 'Nothing held it.'],
} as const

export function OutcomePill({ outcome }: { readonly outcome: Certificate['outcome'] }) {
  return <Pill tone={OUTCOMES[outcome][0]}>{inWords(outcome)}</Pill>
}

/** The subject of a certificate, in words. */
export function subjectOf(certificate: Certificate): string {
  const { fact_ref: ref, decision_id: decision, subject_kind: kind, subject_id: id } = certificate
  if (ref !== null) return `Memory ${ref}`
  if (decision !== undefined) return `Decision ${decision}`
  return kind === undefined ? 'Record' : `${inWords(kind)} ${id ?? ''}`
}

export function OneCertificate() {
  const id = String(useParams({ strict: false })['certificateId'])
  const { data, error, request } = useCertificate(id)
  return (
    <>
      <PageHeader
        title="Certificate of erasure"
        about={<Id value={id} />}
        actions={data && <CertificateFiles certificate={data} />}
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && <CertificateBody certificate={data} />}
    </>
  )
}

/** Reads the signed document of one certificate. */
export function useCertificate(id: string) {
  const { data, ...rest } = useCall<[string], Certificate | FileReply>(erasureGet, [id])
  return { ...rest, data: data && 'certificate_id' in data ? data : undefined }
}

export function CertificateFiles({ certificate }: { readonly certificate: Certificate }) {
  const { can } = useSession()
  const { certificate_id: id } = certificate
  return (
    <>
      <SaveButton
        label="Certificate as PDF"
        kind="primary"
        load={async () =>
          fileOf(await call(client, erasureGet, id, { format: 'pdf' }), `certificate-${id}.pdf`)
        }
      />
      <SaveButton label="Proof bundle" load={() => bundleOf(certificate, can('gcrumbs:read'))} />
    </>
  )
}

/** A file of certificate, published keys and, if a checkpoint covers it, the inclusion proof. */
async function bundleOf(certificate: Certificate, withProof: boolean): Promise<SavedFile> {
  const { certificate_id: id, log_seq: seq } = certificate
  const documents: unknown[] = [certificate]
  const { keys } = await call(client, gcrumbsPublicKey)
  const { last_epoch: epoch } = withProof ? await call(client, gcrumbsStats) : { last_epoch: null }
  if (epoch && seq !== null && seq < epoch.tree_size)
    documents.push(await call(client, gcrumbsProof, epoch.epoch_number, { seq }))
  return jsonFile({ custos_bundle: 1, documents, keys }, `certificate-${id}.json`)
}

export function CertificateBody({ certificate }: { readonly certificate: Certificate }) {
  return (
    <>
      <p className={css['statement']}>
        <strong>{subjectOf(certificate)}</strong> <OutcomePill outcome={certificate.outcome} />{' '}
        {OUTCOMES[certificate.outcome][1]}
      </p>
      <Coverage certificate={certificate} />
      <Section title="About it">
        <Facts
          of={[
            ['Store', certificate.store_id],
            ['Legal basis', certificate.legal_basis],
            ['Requested by', certificate.requested_by],
            ['Requested', <Time key="t" value={certificate.erasure_requested_at} />],
            ['Completed', <Time key="t" value={certificate.erasure_completed_at} />],
            ['Log position', certificate.log_seq],
            ['Signing key', <Id key="i" value={certificate.key_id} />],
          ]}
        />
      </Section>
      <Section
        title="Signature"
        about="Anybody with the published keys can check it, without this service."
      >
        <VerifyHere value={certificate} />
      </Section>
      <Section title="What it does not cover">
        <ul className={css['limits']}>
          {certificate.limits.map((limit) => (
            <li key={limit}>{limit}</li>
          ))}
        </ul>
      </Section>
    </>
  )
}

const PLACES: Readonly<Record<string, string>> = {
  data: 'Stored data',
  keyring: 'Key of the memory',
  index: 'Search index',
  decisions: 'Copies in decisions',
}

function Coverage({ certificate }: { readonly certificate: Certificate }) {
  const { coverage, verification, scrubbed_decision_ids: decisions } = certificate
  return (
    <Section
      title="Where it was removed"
      about={
        <>
          The service looked for remains at <Time value={verification.ran_at} />, before it signed.
        </>
      }
    >
      <table className={css['coverage']} aria-label="Coverage">
        <thead>
          <tr>
            <th scope="col">Place</th>
            <th scope="col">What was found afterwards</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(coverage).map(([place, result]) => (
            <tr key={place}>
              <th scope="row">{PLACES[place] ?? inWords(place)}</th>
              <td>
                {inWords(result)}
                {place === 'decisions' && decisions.length > 0 && ` in ${decisions.length}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <details>
        <summary>Each path that was read ({verification.paths.length})</summary>
        <ul className={css['limits']}>
          {verification.paths.map(({ path, result }) => (
            <li key={path}>
              <code>{path}</code>: {inWords(result)}
            </li>
          ))}
        </ul>
      </details>
    </Section>
  )
}
