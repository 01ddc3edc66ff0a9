// The registries: one layout for all six.

import { Link, useParams } from '@tanstack/react-router'
import { type Scope, useSession } from '../../api/session.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { NotFoundState } from '../../parts/states.tsx'
import { artifacts } from './artifacts.tsx'
import { compositions } from './compositions.tsx'
import { corpora } from './corpora.tsx'
import { landing } from './landing.tsx'
import { RecordList } from './record-list.tsx'
import { RecordView } from './record-view.tsx'
import css from './registries.module.css'
import type { RecordRow, Registry, RegistrySpec } from './registry.ts'
import { actions, types } from './world.tsx'

function registryOf<Row extends RecordRow, One extends RecordRow>(
  id: string,
  scope: Scope,
  spec: RegistrySpec<Row, One>,
): Registry {
  return {
    id,
    title: spec.title,
    scope,
    List: () => <RecordList id={id} spec={spec} />,
    Record: ({ id: record }) => <RecordView registry={id} id={record} spec={spec} />,
  }
}

const REGISTRIES: readonly Registry[] = [
  registryOf('artifacts', 'artifacts:read', artifacts),
  registryOf('corpora', 'artifacts:read', corpora),
  registryOf('types', 'artifacts:read', types),
  registryOf('actions', 'artifacts:read', actions),
  registryOf('compositions', 'artifacts:read', compositions),
  registryOf('landing', 'compliance:read', landing),
]

const useRegistry = (): Registry | undefined => {
  const asked = useParams({ strict: false })['registry']
  return REGISTRIES.find(({ id }) => id === asked)
}

export function Registries() {
  const { can } = useSession()
  const registry = useRegistry()
  if (!registry) return <NotFoundState />
  return (
    <>
      <PageHeader
        title="Registries"
        about="Signed records of what agents are built from, and what they ask to do."
      />
      <nav className={css['tabs']} aria-label="Registries">
        {REGISTRIES.filter(({ scope }) => can(scope)).map(({ id, title }) => (
          <Link
            key={id}
            to="/registries/$registry"
            params={{ registry: id }}
            search={{}}
            activeOptions={{ includeSearch: false }}
          >
            {title}
          </Link>
        ))}
      </nav>
      <registry.List key={registry.id} />
    </>
  )
}

export function OneRecord() {
  const registry = useRegistry()
  const id = String(useParams({ strict: false })['recordId'])
  return registry ? <registry.Record id={id} /> : <NotFoundState />
}
