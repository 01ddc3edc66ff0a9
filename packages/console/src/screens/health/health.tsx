// The health of the service: readiness, the store's index, the queue of writes, the process.

import { memoryStats, monitoringStats, platformReadyz } from '@custos/client/operations'
import { useSession } from '../../api/session.tsx'
import { useStoreId } from '../../api/store-id.ts'
import { useCall } from '../../api/use-call.ts'
import { Facts, formatBytes, formatNumber, Pill } from '../../parts/display.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { relativeTime, Time } from '../../parts/time.tsx'

const REFETCH_MS = 5_000

export function Health() {
  const { can } = useSession()
  const { data, error, request } = useCall(platformReadyz, [], { refetchMs: REFETCH_MS })
  return (
    <>
      <PageHeader
        title="Health"
        about="Read again every five seconds. The metrics of the service have the history."
        request={request}
      />
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && (
        <Section title="Readiness" about={`Up for ${duration(data.uptime_seconds)}.`}>
          <Facts
            of={Object.entries(data.checks).map(
              ([name, state]) =>
                [
                  name,
                  <Pill key={name} tone={state === 'ok' ? 'good' : 'bad'}>
                    {state}
                  </Pill>,
                ] as const,
            )}
          />
        </Section>
      )}
      <ServiceProcess />
      {can('memory:read') && <StoreHealth />}
    </>
  )
}

const duration = (seconds: number): string => relativeTime(0, seconds * 1_000).replace(' ago', '')

function ServiceProcess() {
  const { data, error } = useCall(monitoringStats, [], { refetchMs: REFETCH_MS })
  if (error) return <ErrorState error={error} />
  if (!data) return null
  const { process } = data
  return (
    <Section title="Process">
      <Facts
        of={[
          ['Version', data.version],
          ['Started', <Time key="t" value={data.started_at} />],
          ['Database', process?.engine],
          ['Commits', process && formatNumber(process.commits)],
          ['Units of work', process && formatNumber(process.units)],
          ['Units that wait for the writer', process && formatNumber(process.queued)],
          ['Resident memory', process && formatBytes(process.rss_bytes)],
          ['JavaScript heap', process && formatBytes(process.heap_used_bytes)],
        ]}
      />
    </Section>
  )
}

function StoreHealth() {
  const storeId = useStoreId()
  const { data, error } = useCall(memoryStats, [storeId], { refetchMs: REFETCH_MS })
  if (error) return <ErrorState error={error} />
  if (!data) return null
  const { index, vectors } = data
  return (
    <Section title={`Store ${storeId}`}>
      <Facts
        of={[
          ['Memories', formatNumber(data.facts)],
          ['Current', formatNumber(data.current)],
          ['Erased', formatNumber(data.erased)],
          ['Tokens', formatNumber(data.tokens)],
          ['Index', `${index.state}, ${formatNumber(index.facts)} memories`],
          ['Index in memory', formatBytes(index.bytes)],
          ['Vector space', vectors.space ?? 'none'],
          ['Vectors missing', formatNumber(vectors.missing)],
          ['Writes waiting', formatNumber(data.pending)],
          ['Writes a batch, on average', data.avg_batch_size.toFixed(1)],
        ]}
      />
    </Section>
  )
}
