// Whether a person's consent is valid, from the entries about it. A consent is valid until the same
// person withdraws it. A withdrawal that names a version ends the consent to that version and to
// all earlier ones, which that version replaced; one that names none ends all.

export interface ConsentAct {
  readonly isWithdrawal: boolean
  /** Undefined for a withdrawal of every version. */
  readonly policyVersion: number | undefined
}

export interface ConsentState<Act> {
  readonly state: "given" | "withdrawn" | "none"
  /** The newest valid consent, or else the newest that was given. */
  readonly consent: Act | undefined
  /** The newest withdrawal, if no consent is valid. */
  readonly withdrawal: Act | undefined
}

export interface ConsentReading<Act> {
  /** Takes the next older act. Returns the state once no older act can change it. */
  take(act: Act): ConsentState<Act> | undefined
  /** The state when there are no older acts. */
  end(): ConsentState<Act>
}

/** Reads the acts of one person in one project from the newest to the oldest. */
export function readConsents<Act extends ConsentAct>(): ConsentReading<Act> {
  let consent: Act | undefined
  let withdrawal: Act | undefined
  /** The newest version that was withdrawn later. */
  let withdrawn = 0
  const ended = () => ({ state: "withdrawn", consent, withdrawal }) as const
  return {
    take(act) {
      const { isWithdrawal, policyVersion = Infinity } = act
      if (isWithdrawal) {
        withdrawal ??= act
        withdrawn = Math.max(withdrawn, policyVersion)
      } else if (policyVersion > withdrawn) {
        return { state: "given", consent: act, withdrawal: undefined }
      } else consent ??= act
      return withdrawn === Infinity && consent !== undefined ? ended() : undefined
    },
    end: () =>
      withdrawal === undefined ? { state: "none", consent: undefined, withdrawal } : ended(),
  }
}
