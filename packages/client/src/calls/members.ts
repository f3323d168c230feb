import { path, type Call } from "../call.ts"
import type { CallOptions } from "../exchange.ts"
import type { Given } from "../given.ts"
import { listing } from "../listing.ts"
import type { InvitedMember, Member, MemberChange, MemberList, NewMember } from "../wire.ts"

export function memberCalls(call: Call) {
  const lists = listing(call, "members", (page: MemberList) => page.members)
  return Object.assign(lists, {
    /** The answer has an address for the person, which is shown once. */
    invite: (
      workspaceId: string,
      member: Given<NewMember>,
      options?: CallOptions,
    ): Promise<InvitedMember> =>
      call.post(path`/v1/workspaces/${workspaceId}/members`, member, options),

    /** Has somebody who has an account, in whichever workspace, belong to this one as well. */
    add: (
      workspaceId: string,
      memberId: string,
      member: Given<MemberChange>,
      options?: CallOptions,
    ): Promise<Member> =>
      call.post(path`/v1/workspaces/${workspaceId}/members/${memberId}`, member, options),

    update: (
      workspaceId: string,
      memberId: string,
      change: Given<MemberChange>,
      options?: CallOptions,
    ): Promise<Member> =>
      call.patch(path`/v1/workspaces/${workspaceId}/members/${memberId}`, change, options),

    remove: (workspaceId: string, memberId: string, options?: CallOptions): Promise<void> =>
      call.delete(path`/v1/workspaces/${workspaceId}/members/${memberId}`, options),

    /** A new address for a person who has lost the one of the invitation, or the password. */
    inviteAgain: (
      workspaceId: string,
      memberId: string,
      options?: CallOptions,
    ): Promise<InvitedMember> =>
      call.post(path`/v1/workspaces/${workspaceId}/members/${memberId}/setup`, undefined, options),
  })
}
