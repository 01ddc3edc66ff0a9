// One report: the recorded evidence for each article, and the report as a file.

import { call } from '@custos/client/core'
import { reportsDelete, reportsDownloadFormat, reportsGet } from '@custos/client/operations'
import type { Report } from '@custos/client/types'
import { useNavigate, useParams } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/connection.ts'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Id } from '../../parts/code.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Facts, formatNumber, inWords } from '../../parts/display.tsx'
import { VerifyHere } from '../../parts/json-view.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { fileOf, SaveButton } from '../../parts/save-button.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import css from './evidence.module.css'
import { FindingPill, useFrameworkNames } from './evidence.tsx'

const FORMATS = [
  ['pdf', 'PDF'],
  ['html', 'HTML'],
  ['json', 'JSON, signed'],
  ['oscal', 'OSCAL'],
] as const

export function OneReport() {
  const id = String(useParams({ strict: false })['reportId'])
  const { data, error, request } = useCall(reportsGet, [id])
  return (
    <>
      <PageHeader
        title={data ? data.title : 'Report'}
        about={data?.headline ?? <Id value={id} />}
        actions={data && <DeleteButton reportId={id} />}
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && <ReportBody report={data} />}
    </>
  )
}

function ReportBody({ report }: { readonly report: Report }) {
  const nameOf = useFrameworkNames()
  const frameworks = [...new Set(report.sections.map(({ framework }) => framework))]
  return (
    <>
      <Section title="Files" about="The same report always gives the same bytes.">
        <div className={css['files']}>
          {FORMATS.map(([format, label]) => (
            <SaveButton
              key={format}
              label={label}
              kind={format === 'pdf' ? 'primary' : 'plain'}
              load={async () =>
                fileOf(
                  await call(client, reportsDownloadFormat, report.report_id, format),
                  `report-${report.report_id}.${format === 'oscal' ? 'oscal.json' : format}`,
                )
              }
            />
          ))}
        </div>
      </Section>
      <Section title="About it">
        <Facts
          of={[
            ['Evidence', <FindingPill key="f" finding={report.overall_status} />],
            ['From', <Time key="a" value={report.period_start} />],
            ['To', <Time key="b" value={report.period_end} />],
            ['Counted up to log entry', formatNumber(report.log_seq)],
            ['Generated', <Time key="g" value={report.generated_at} />],
            ['Digest of the content', <Id key="d" value={report.content_hash} />],
          ]}
        />
        <VerifyHere value={report} />
      </Section>
      {frameworks.map((framework) => (
        <Section key={framework} title={nameOf(framework)}>
          <div className={css['articles']}>
            {report.sections
              .filter((section) => section.framework === framework)
              .map((section) => (
                <Article key={section.key} section={section} />
              ))}
          </div>
        </Section>
      ))}
    </>
  )
}

function Article({ section }: { readonly section: Report['sections'][number] }) {
  const figures = 'figures' in section ? section.figures : section.evidence
  return (
    <article className={css['article']}>
      <h3>
        {section.article}: {section.title} <FindingPill finding={section.status} />
      </h3>
      {'detail' in section && <p>{section.detail}</p>}
      {'detail' in section && (
        <ul>
          {section.evidence.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      {Object.keys(figures).length > 0 && (
        <details>
          <summary>Counts</summary>
          <Facts
            of={Object.entries(figures).map(([name, count]) => [
              inWords(name),
              formatNumber(count),
            ])}
          />
        </details>
      )}
    </article>
  )
}

function DeleteButton({ reportId }: { readonly reportId: string }) {
  const { can } = useSession()
  const [asking, setAsking] = useState(false)
  const navigate = useNavigate()
  const remove = useAction(reportsDelete)
  if (!can('compliance:admin')) return null
  return (
    <>
      <Button kind="danger" icon={Trash2} onClick={() => setAsking(true)}>
        Delete
      </Button>
      <ConfirmDialog
        title="Delete the report"
        open={asking}
        onClose={() => setAsking(false)}
        verb="Delete"
        act={async () => {
          await navigate({ to: '/evidence', search: {} })
          await remove.mutateAsync([reportId])
        }}
      >
        <p>Its content is deleted. That it existed stays on record.</p>
      </ConfirmDialog>
    </>
  )
}
