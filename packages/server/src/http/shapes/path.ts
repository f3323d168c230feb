import { Type } from "./type.ts"
import {
  ErasureId,
  HoldId,
  KeyId,
  MemberId,
  PackId,
  ReceiptId,
  TokenId,
  WorkspaceId,
} from "./id.ts"

// The parameters of paths.

export const WorkspaceParams = Type.Object({ workspaceId: WorkspaceId })
export const ReceiptParams = Type.Object({ workspaceId: WorkspaceId, receiptId: ReceiptId })
export const ProjectParams = Type.Object({
  workspaceId: WorkspaceId,
  projectId: Type.String({ minLength: 1, maxLength: 64 }),
})
export const KeyParams = Type.Object({ workspaceId: WorkspaceId, keyId: KeyId })
export const TokenParams = Type.Object({ workspaceId: WorkspaceId, tokenId: TokenId })
export const MemberParams = Type.Object({ workspaceId: WorkspaceId, memberId: MemberId })
export const PackParams = Type.Object({ workspaceId: WorkspaceId, packId: PackId })
export const ErasureParams = Type.Object({ workspaceId: WorkspaceId, erasureId: ErasureId })
export const HoldParams = Type.Object({ workspaceId: WorkspaceId, holdId: HoldId })
const Tile = Type.String({ docs: { examples: ["0/000", "0/x001/234.p/17", "entries/000"] } })
const EpochNumber = Type.String({ docs: { examples: ["1"] } })
export const TileParams = Type.Object({ workspaceId: WorkspaceId, tile: Tile })
export const EpochParams = Type.Object({ workspaceId: WorkspaceId, epoch: EpochNumber })
export const EpochTileParams = Type.Object({
  workspaceId: WorkspaceId,
  epoch: EpochNumber,
  tile: Tile,
})

// Answers that are not JSON.

export const PlainText = Type.String()
export const Bytes = Type.String({ docs: { format: "binary" } })
