// The world model: types of objects, links and actions, the actions that were invoked, and
// templates to begin with.

import { call } from '@custos/client/core'
import {
  templatesInstall,
  templatesList,
  worldModelActionStats,
  worldModelGetAction,
  worldModelGetType,
  worldModelInvoke,
  worldModelListActions,
  worldModelListTypes,
  worldModelRegisterType,
  worldModelVerifyAction,
  worldModelVerifyType,
} from '@custos/client/operations'
import type {
  Action,
  WorldModelListActionsReply,
  WorldModelListTypesReply,
  WorldType,
  WorldTypeKind,
} from '@custos/client/types'
import { useState } from 'react'
import { client } from '../../api/connection.ts'
import { useSession } from '../../api/session.tsx'
import { useUrlState } from '../../api/url-state.ts'
import { useAction, useCall, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock, Id } from '../../parts/code.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { counted } from '../../parts/display.tsx'
import { Form, SelectField } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { MemberTable } from './members.tsx'
import { AUTHORITY_FIELDS, authorityOf, linesOf, objectOf, type RegistrySpec } from './registry.ts'

const KINDS = [
  ['object', 'Object'],
  ['link', 'Link'],
  ['action', 'Action'],
] as const

const kindOf = (text: string | undefined): WorldTypeKind =>
  KINDS.find(([kind]) => kind === text)?.[0] ?? 'object'

/** The version of a type in the address; null for the newest. */
function useVersion(): number | null {
  const version = Number(useUrlState('version')[0])
  return Number.isSafeInteger(version) && version > 0 ? version : null
}

const versionQuery = (version: number | null) => (version === null ? {} : { version })

export const types: RegistrySpec<WorldModelListTypesReply['types'][number], WorldType> = {
  title: 'Types',
  about: 'What objects, links and actions look like, version by version.',
  admin: 'artifacts:admin',
  nameOf: ({ name }) => name,
  idOf: ({ type_id }) => type_id,
  columns: [
    { id: 'kind', header: 'Kind', cell: ({ kind }) => kind },
    { id: 'version', header: 'Version', numeric: true, cell: ({ version }) => version },
  ],
  useRows: () => useList(worldModelListTypes, [usePage()], (reply) => reply.types),
  useCounts: () => useCall(worldModelActionStats, []).data?.types,
  useOne: (id) => useCall(worldModelGetType, [id, versionQuery(useVersion())]),
  verify: worldModelVerifyType,
  facts: (one) => [
    ['Kind', one.kind],
    ['Version', `${one.version}${one.newest ? ', the newest' : ''}`],
    ['Name in policies', one.operation],
    ['Digest of the spec', <Id key="d" value={one.schema_digest} />],
  ],
  Members: Spec,
  ListActs: Templates,
  register: {
    verb: 'Register a type',
    fields: [
      { name: 'kind', label: 'Kind', options: KINDS, initial: 'object' },
      { name: 'name', label: 'Name' },
      {
        name: 'spec',
        label: 'Spec',
        hint: 'Object: a JSON Schema. Link: from_type, to_type. Action: required_trust_tier.',
        kind: 'json',
        initial: JSON.stringify({ properties: {} }, null, 2),
      },
    ],
    async send({ kind, name = '', spec }) {
      const body = { kind: kindOf(kind), name, spec: objectOf(spec, 'Spec') }
      return (await call(client, worldModelRegisterType, body)).type_id
    },
  },
}

function Spec({ record }: { readonly record: WorldType }) {
  const [, setVersion] = useUrlState('version')
  const newest = useCall(worldModelGetType, [record.type_id, {}]).data?.version ?? record.version
  const versions = Array.from({ length: newest }, (_, i) => String(newest - i))
  return (
    <Section
      title="Spec"
      actions={
        newest > 1 && (
          <Form inline label="Version" onSubmit={() => undefined}>
            <SelectField
              label="Version"
              value={String(record.version)}
              options={versions.map((version) => [version, `Version ${version}`] as const)}
              onChange={setVersion}
            />
          </Form>
        )
      }
    >
      <CodeBlock label="Spec" text={JSON.stringify(record.spec, null, 2)} />
    </Section>
  )
}
const subjectText = (one: Action['subject_refs'][number]): string =>
  typeof one === 'string' ? one : one.ref

export const actions: RegistrySpec<WorldModelListActionsReply['invocations'][number], Action> = {
  title: 'Actions',
  about: 'What agents asked to do: checked against its type, a trust tier and the policies.',
  admin: 'artifacts:admin',
  nameOf: ({ action_name }) => action_name,
  idOf: ({ action_id }) => action_id,
  columns: [
    {
      id: 'subjects',
      header: 'Applies to',
      cell: ({ subject_refs: refs }) => refs.map(subjectText).join(', '),
    },
    {
      id: 'person',
      header: 'On behalf of',
      cell: ({ authority }) => authority.human_principal ?? '–',
    },
  ],
  useRows: () => useList(worldModelListActions, [usePage()], (reply) => reply.invocations),
  useCounts: () => useCall(worldModelActionStats, []).data?.actions,
  useOne: (id) => useCall(worldModelGetAction, [id]),
  verify: worldModelVerifyAction,
  facts: (one) => [
    ['On behalf of', one.authority.human_principal],
    ['Trust tier', `${one.authority.trust_tier}, required ${one.type.required_trust_tier}`],
    ['Name in policies', one.operation],
    ['Checked against', `version ${one.type.version} of its type`],
  ],
  Members: ({ record }) => (
    <>
      <Section title="Applies to">
        <MemberTable
          label="Subjects"
          headers={['Name', 'Type']}
          rows={record.subject_refs.map((one) => [
            JSON.stringify(one),
            [subjectText(one), typeof one === 'string' ? '–' : one.type],
          ])}
        />
      </Section>
      <Section title="Parameters">
        <CodeBlock label="Parameters" text={JSON.stringify(record.params, null, 2)} />
      </Section>
    </>
  ),
  register: {
    verb: 'Invoke an action',
    fields: [
      { name: 'action', label: 'Action', hint: 'Name of a registered type' },
      {
        name: 'subjects',
        label: 'Applies to',
        hint: 'One a line: name, or type | name',
        kind: 'lines',
        optional: true,
      },
      { name: 'params', label: 'Parameters', hint: 'JSON', kind: 'json', initial: '{}' },
      ...AUTHORITY_FIELDS,
    ],
    async send(filled) {
      const { action = '', subjects, params } = filled
      const reply = await call(client, worldModelInvoke, {
        action_name: action,
        subject_refs: linesOf(subjects).map(subjectOf),
        params: objectOf(params, 'Parameters'),
        authority: authorityOf(filled),
      })
      return 'detail' in reply ? reply.detail.action_id : reply.action_id
    },
  },
}

function subjectOf(line: string): Action['subject_refs'][number] {
  const [type = '', ref] = line.split('|').map((part) => part.trim())
  return ref === undefined ? type : { type, ref }
}

function Templates() {
  const { can } = useSession()
  const [open, setOpen] = useState(false)
  if (!can('artifacts:admin')) return null
  return (
    <>
      <Button onClick={() => setOpen(true)}>Install a template</Button>
      <Dialog title="Install a template" open={open} onClose={() => setOpen(false)}>
        <InstallForm />
      </Dialog>
    </>
  )
}

function InstallForm() {
  const { data, error } = useCall(templatesList, [{ limit: 50 }])
  const [chosen, setChosen] = useState('')
  const install = useAction(templatesInstall)
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  const template = data.templates.find(({ id }) => id === chosen) ?? data.templates[0]
  if (!template) return <p>This service has no templates.</p>
  const run = (dry_run: boolean) => install.mutate([{ template_id: template.id, dry_run }])
  const result = install.data?.data
  return (
    <Form onSubmit={() => run(false)}>
      <SelectField
        label="Template"
        value={template.id}
        options={data.templates.map((one) => [one.id, `${one.name} ${one.version}`] as const)}
        onChange={(id) => {
          setChosen(id)
          install.reset()
        }}
      />
      <p>{template.description}</p>
      {install.error && <ErrorState error={install.error} />}
      {result && (
        <p role="status">
          {result.dry_run ? 'It would register ' : 'Registered: '}
          {counted(result.installed.length, 'type')}. Exist already: {result.already_there.length}.
          In conflict: {result.conflicts.length}.
        </p>
      )}
      <div>
        <Button busy={install.isPending} onClick={() => run(true)}>
          Dry run
        </Button>{' '}
        <Button type="submit" kind="primary" busy={install.isPending}>
          Install
        </Button>
      </div>
    </Form>
  )
}
