// The form kit: labelled fields with a hint, and a form that never submits twice.

import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'
import css from './form.module.css'

export function Form(props: {
  readonly onSubmit: () => void | Promise<void>
  readonly children: ReactNode
  /** Puts the fields side by side, for filters above a table. */
  readonly inline?: boolean
  readonly label?: string
}) {
  const { onSubmit, children, inline, label } = props
  return (
    <form
      className={inline ? css['inline'] : css['form']}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault()
        void onSubmit()
      }}
    >
      {children}
    </form>
  )
}

interface FieldProps {
  readonly label: string
  readonly hint?: string | undefined
}

type Changed<T> = Omit<T, 'onChange' | 'value' | 'id'> & {
  readonly value: string
  readonly onChange: (value: string) => void
}

function Labelled({ label, hint, id, children }: FieldProps & { id: string; children: ReactNode }) {
  return (
    <div className={css['field']}>
      <label htmlFor={id}>{label}</label>
      {children}
      {hint !== undefined && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  )
}

export function TextField(props: FieldProps & Changed<InputHTMLAttributes<HTMLInputElement>>) {
  const { label, hint, onChange, ...rest } = props
  const id = useId()
  return (
    <Labelled label={label} hint={hint} id={id}>
      <input
        {...rest}
        id={id}
        className={css['control']}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={({ target }) => onChange(target.value)}
      />
    </Labelled>
  )
}

export function TextArea(props: FieldProps & Changed<TextareaHTMLAttributes<HTMLTextAreaElement>>) {
  const { label, hint, onChange, ...rest } = props
  const id = useId()
  return (
    <Labelled label={label} hint={hint} id={id}>
      <textarea
        rows={4}
        {...rest}
        id={id}
        className={css['control']}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={({ target }) => onChange(target.value)}
      />
    </Labelled>
  )
}

export function SelectField(
  props: FieldProps &
    Omit<Changed<SelectHTMLAttributes<HTMLSelectElement>>, 'children'> & {
      /** Value and text of each option. */
      readonly options: readonly (readonly [value: string, text: string])[]
    },
) {
  const { label, hint, onChange, options, ...rest } = props
  const id = useId()
  return (
    <Labelled label={label} hint={hint} id={id}>
      <select
        {...rest}
        id={id}
        className={css['control']}
        onChange={({ target }) => onChange(target.value)}
      >
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Labelled>
  )
}

export function CheckField(props: {
  readonly label: string
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}) {
  const { label, checked, onChange } = props
  return (
    <label className={css['check']}>
      <input
        type="checkbox"
        checked={checked}
        onChange={({ target }) => onChange(target.checked)}
      />
      {label}
    </label>
  )
}

/** Any number of several choices. */
export function CheckFields<T extends string>(props: {
  readonly legend: string
  /** Value and text of each. */
  readonly options: readonly (readonly [value: T, text: string])[]
  readonly value: readonly T[]
  readonly onChange: (value: T[]) => void
}) {
  const { legend, options, value, onChange } = props
  return (
    <fieldset className={css['checks']}>
      <legend>{legend}</legend>
      {options.map(([one, text]) => (
        <CheckField
          key={one}
          label={text}
          checked={value.includes(one)}
          onChange={(on) => onChange([...value.filter((it) => it !== one), ...(on ? [one] : [])])}
        />
      ))}
    </fieldset>
  )
}
