# SPDX-License-Identifier: Apache-2.0
#
# The tests are tested: each planted mutant is a small mistake in the core, and the tests have to
# notice it. Works on a copy of the project; only the file with the mistake is compiled again.
#
#   cmake -D SOURCE_DIR=... -D WORK_DIR=... [-D CXX=...] [-D ONLY=<regex of names>] -P mutants.cmake
#
# A mutant that survives, that does not compile, or whose text is not found exactly once (the code
# has changed: write the mutant anew) is a failure.

cmake_minimum_required(VERSION 3.25)

set(count 0)
# mutant(<name in words> <file> <exact text> <replacement>)
function(mutant name file text replacement)
  if(ONLY AND NOT name MATCHES "${ONLY}")
    return()
  endif()
  math(EXPR next "${count} + 1")
  set(count ${next} PARENT_SCOPE)
  foreach(part name file text replacement)
    set(mutant_${next}_${part} "${${part}}" PARENT_SCOPE)
  endforeach()
endfunction()

# ---- the problem and its lower bound

mutant("one byte too many within the capacity" src/problem.cpp
  [[if (end > region.capacity_bytes)]]
  [[if (end > region.capacity_bytes && end - region.capacity_bytes > 1)]])
mutant("overlapping fixed blocks are not looked for" src/problem.cpp
  [[return fixed_count < 2 ?]]
  [[return fixed_count < 3 ?]])
mutant("the unit is the largest alignment" src/lower_bound.cpp
  [[unit = std::min(unit, block.alignment_bytes)]]
  [[unit = unit == UINT64_MAX ? block.alignment_bytes : std::max(unit, block.alignment_bytes)]])
mutant("live ranges end one step early in the bound" src/lower_bound.cpp
  [[end->push_back({range.last_use.value + 1, bytes})]]
  [[end->push_back({range.last_use.value, bytes})]])
mutant("ends of fixed blocks are forgotten in the bound" src/lower_bound.cpp
  [[raise_to(rounded_end, range_of(block).first_use);]]
  [[]])
mutant("the larger of two that may overlap is left out" src/lower_bound.cpp
  [[first_size != second_size ? first_size < second_size]]
  [[first_size != second_size ? first_size > second_size]])
mutant("a block is left out of one step twice" src/lower_bound.cpp
  [[next_step = last + 1;]]
  [[next_step = first;]])
mutant("a bound beyond the largest arena passes" src/lower_bound.cpp
  [[if (live.overflows() || live.value() > kMaxArenaBytes)]]
  [[if (live.overflows())]])
mutant("a sum that wraps passes for a small one" src/lower_bound.cpp
  [[if (low_ < bytes) ++high_;]]
  [[]])
mutant("conflicts are counted though the two may overlap" src/lower_bound.cpp
  [[if (std::binary_search(allowed.begin(), allowed.end(), key)) continue;]]
  [[]])

# ---- placement

mutant("smallest first" src/placement_order.cpp
  [[return {block.size_bytes, early(block.live_range), 0};]]
  [[return {UINT64_MAX - block.size_bytes, early(block.live_range), 0};]])
mutant("the last use counts before the first" src/placement_order.cpp
  [[return ~(std::uint64_t{range.first_use.value} << 32 | range.last_use.value);]]
  [[return ~(std::uint64_t{range.last_use.value} << 32 | range.first_use.value);]])
mutant("a tie at the first use is not broken by the last" src/placement_order.cpp
  [[if (range_a.last_use != range_b.last_use) return range_a.last_use < range_b.last_use;]]
  [[]])
mutant("ties end at the larger alignment" src/placement_order.cpp
  [[return a.alignment_bytes < b.alignment_bytes;]]
  [[return a.alignment_bytes > b.alignment_bytes;]])
mutant("fixed blocks of all regions are obstacles" src/place_in_gaps.cpp
  [[if (block.region != region || !block.is_fixed()) continue;]]
  [[if (!block.is_fixed()) continue;]])
mutant("a gap one byte too small is taken" src/occupancy.cpp
  [[if (entry.begin >= offset + search.size_bytes) {]]
  [[if (entry.begin + 1 >= offset + search.size_bytes) {]])
mutant("what is above an obstacle is not aligned" src/occupancy.cpp
  [[offset = is_obstacle ? search.align(entry.end) : offset;]]
  [[offset = is_obstacle ? entry.end : offset;]])
mutant("a chunk of blocks below the offset is not passed over" src/occupancy.cpp
  [[if (has_no_gap && !is_below)]]
  [[if (has_no_gap)]])
mutant("what may overlap is an obstacle" src/occupancy.cpp
  [[if (kHasAllowed) is_obstacle = is_obstacle && !may_overlap(entry);]]
  [[]])
mutant("conflicts beyond live ranges are no obstacles" src/occupancy.cpp
  [[if (entry.end > offset) offset = search_.align(entry.end);]]
  [[]])
mutant("blocks that pass through a slab are forgotten" src/occupancy.cpp
  [[is_covered ? lists_.merge(list(slab, Kind::kThrough), entry.begin, entry.end)]]
  [[is_covered ? true]])
mutant("a block is listed only where it begins" src/occupancy.cpp
  [[slab <= slab_of_[times.last]; ++slab) {
    if (!lists_.add]]
  [[slab <= slab_of_[times.first]; ++slab) {
    if (!lists_.add]])
mutant("every second byte of a key is not sorted by" src/internal/radix_sort.h
  [[shift += 8]]
  [[shift += 16]])
mutant("the search ends after one round over the lists" src/occupancy.cpp
  [[unasked = offset == before ? unasked - 1 : count;]]
  [[--unasked;]])
mutant("a grown union does not take in what it reaches" src/offset_lists.cpp
  [[absorb_after(index, position);
  return true;]]
  [[return true;]])
mutant("the upper half of a chunk is not summarized" src/offset_lists.cpp
  [[summarize(&upper);]]
  [[]])
mutant("a new end of a chunk is not noted" src/offset_lists.cpp
  [[chunk.max_end = std::max(chunk.max_end, entry.end);]]
  [[]])
mutant("without reuse, fixed blocks are no obstacles" src/place_without_reuse.cpp
  [[if (block.size_bytes != 0 && !fixed.push_back(i))]]
  [[if (block.size_bytes == 0 && !fixed.push_back(i))]])
mutant("without reuse, a gap one byte too small is taken" src/place_without_reuse.cpp
  [[begin - cursor >= block.size_bytes) break;]]
  [[begin - cursor + 1 >= block.size_bytes) break;]])
mutant("the arena is not rounded up" src/planner.cpp
  [[checked_align_up(high_water_mark, result->plan.unit_bytes, &arena_bytes)]]
  [[checked_align_up(high_water_mark, 1, &arena_bytes)]])
mutant("the arena's base ignores its blocks' alignments" src/planner.cpp
  [[alignment = std::max(alignment, block.alignment_bytes);]]
  [[]])
mutant("tail padding does not count against the capacity" src/planner.cpp
  [[if (result->layout.size_bytes > limits.capacity_bytes)]]
  [[if (arena_bytes > limits.capacity_bytes)]])
mutant("an empty arena is padded" src/planner.cpp
  [[arena_bytes == 0 ? 0 : options_.tail_padding_bytes]]
  [[options_.tail_padding_bytes]])
mutant("views lie at their block's beginning" src/planner.cpp
  [[block.offset_bytes + places[i].offset_bytes}]]
  [[block.offset_bytes}]])

# ---- verify(problem, plan)

mutant("the live range tree forgets the last step" src/internal/live_range_index.h
  [[set(block, last_use.value + 1);]]
  [[set(block, last_use.value);]])
mutant("the live range tree skips its right half" src/live_range_index.cpp
  [[if (ends_[node] <= step) ++node;]]
  [[]])
mutant("blocks that end where another begins conflict" src/block_conflicts.cpp
  [[return end_of(other) <= placements_[block].offset_bytes;]]
  [[return end_of(other) < placements_[block].offset_bytes;]])
mutant("regions that are not reused are checked like others" src/block_conflicts.cpp
  [[return reuse ? problem_.blocks[block].live_range : kAllSteps;]]
  [[return reuse ? problem_.blocks[block].live_range : problem_.blocks[block].live_range;]])
mutant("conflicts beyond live ranges are not verified" src/block_conflicts.cpp
  [[if (shares_bytes(pair.first, pair.second) && !is_allowed]]
  [[if (false && !is_allowed]])
mutant("a placement may end one byte beyond its arena" src/verify_problem.cpp
  [[block.size_bytes > arena - placement.offset_bytes)]]
  [[block.size_bytes > arena - placement.offset_bytes + 1)]])
mutant("the arena's alignment is not verified" src/verify_problem.cpp
  [[|| !base_suits]]
  [[]])
mutant("the stated bound is only compared with the arena" src/verify_problem.cpp
  [[stated.lower_bound_bytes > bound->lower_bound_bytes ||]]
  [[]])
mutant("moved fixed blocks pass" src/verify_problem.cpp
  [[if (block.is_fixed() && placement.offset_bytes]]
  [[if (block.is_fixed() && placement.offset_bytes > block.fixed_offset_bytes && placement.offset_bytes]])
mutant("the step of an overlap is the first block's" src/verify_problem.cpp
  [[.with(begin_of_first < begin_of_second ? begin_of_second : begin_of_first)]]
  [[.with(begin_of_first)]])

# ---- verify(graph, plan)

mutant("operands are not read" src/verify_graph.cpp
  [[if (!is_intact(operand, &other)) return Status(Reason::kOverwritten)]]
  [[if (false) return Status(Reason::kOverwritten)]])
mutant("scratch is not written" src/verify_graph.cpp
  [[for (const TensorIndex scratch : graph_.scratch(op)) write(scratch);]]
  [[]])
mutant("an operand twice may be overwritten" src/verify_graph.cpp
  [[operands.end(), operand) == 1;]]
  [[operands.end(), operand) >= 1;]])
mutant("a result may be shifted over its operand" src/verify_graph.cpp
  [[from.space == to.space && from.begin == to.begin &&]]
  [[from.space == to.space &&]])
mutant("all inputs are disposable" src/verify_graph.cpp
  [[written.kind == TensorKind::kInput && !written.is_disposable;]]
  [[false;]])
mutant("any result in place may overwrite state" src/verify_graph.cpp
  [[(!outlives_run || relation.kind == RelationKind::kUpdate);]]
  [[true;]])
mutant("kept tensors need not be kept" src/verify_graph.cpp
  [[const bool is_kept = tensor.is_output ||]]
  [[const bool is_kept = tensor.is_output && ]])
mutant("state is not looked at after the run" src/verify_graph.cpp
  [[const bool outlives_run = tensor.kind == TensorKind::kPersistent || is_outside_buffer(index);]]
  [[const bool outlives_run = is_outside_buffer(index);]])
mutant("names of names are looked at once" src/verify_graph.cpp
  [[round < rounds && rename_aliases(op); ++round)]]
  [[round < 1 && rename_aliases(op); ++round)]])
mutant("parts of a concatenation stay themselves" src/verify_graph.cpp
  [[if (lies_inside) absorbed_by_[part.value] = base;]]
  [[if (false && lies_inside) absorbed_by_[part.value] = base;]])
mutant("inputs come before the buffers that they lie in" src/verify_graph.cpp
  [[for (const bool is_input : {false, true})]]
  [[for (const bool is_input : {true, false})]])
mutant("an alias may lie anywhere in its base's region" src/abstract_run_places.cpp
  [[tensor.space == base.space && tensor.begin - base.begin == relation.offset_bytes]]
  [[tensor.space == base.space]])
mutant("a tensor may end one byte beyond its region" src/abstract_run_places.cpp
  [[tensor.size_bytes > layout.size_bytes - placement.offset_bytes)]]
  [[tensor.size_bytes > layout.size_bytes - placement.offset_bytes + 1)]])
mutant("an update may reach out of its buffer" src/abstract_run_places.cpp
  [[if (!fits_inside ||]]
  [[if (]])
mutant("writing a range of bytes forgets what it divides" src/byte_owners.cpp
  [[nodes_[right] = nodes_[node];]]
  [[]])
mutant("a range holds a version when its first byte does" src/byte_owners.cpp
  [[holds_below(2 * node, {span.begin, middle}, cells, owner, other) &&]]
  [[holds_below(2 * node, {span.begin, middle}, cells, owner, other) ||]])

# ---- results in place

mutant("an operand that is read later is overwritten" src/lifetime_in_place.cpp
  [[if (operand.last_touch > step) return]]
  [[if (false) return]])
mutant("an operand that is an output is overwritten" src/lifetime_in_place.cpp
  [[if (operand.is_held) return]]
  [[if (false) return]])
mutant("add(x, x) works in place" src/lifetime_in_place.cpp
  [[return count > 1;]]
  [[return count > 2;]])
mutant("two results join one operand" src/lifetime_in_place.cpp
  [[if (has_other_result(relation, operand_root))]]
  [[if (false)]])
mutant("inputs are overwritten that are not disposable" src/lifetime_in_place.cpp
  [[if (operand.holds_readable_input) return]]
  [[if (false) return]])

# ---- folding

mutant("operators with state are folded" src/fold.cpp
  [[return reads_something && !graph_.has_state(op);]]
  [[return reads_something;]])
mutant("operators that read nothing are folded" src/fold.cpp
  [[bool reads_something = false;]]
  [[bool reads_something = true;]])
mutant("one constant operand is enough to be folded" src/fold.cpp
  [[if (!is_constant_[operand.value]) return false;]]
  [[if (!is_constant_[operand.value]) continue;]])
mutant("outputs are folded" src/fold.cpp
  [[const bool may_move = tensor.kind == TensorKind::kIntermediate && !tensor.is_output;]]
  [[const bool may_move = tensor.kind != TensorKind::kConstant;]])
mutant("a part of a computed whole is folded" src/fold.cpp
  [[its.stays = its.stays || !may_move || !is_constant_[i];]]
  [[its.stays = its.stays || !may_move;]])
mutant("parts of two wholes are folded" src/fold.cpp
  [[return !stays && whole_count == 1 && relation_count == tensor_count - 1;]]
  [[return !stays;]])
mutant("an update of what is folded stays one" src/fold.cpp
  [[if (is_update && class_of(relation.base).is_folded()) relation.kind = RelationKind::kInPlace;]]
  [[static_cast<void>(is_update);]])
mutant("an operator with an output among its results runs once" src/fold.cpp
  [[return its.is_folded() || its.is_constant_data;]]
  [[return its.whole_count == 1;]])

# ---- the plan and the arena

mutant("the hash leaves out tensors" src/plan.cpp
  [[{&placements_, &tensor_placements_}]]
  [[{&placements_, &placements_}]])
mutant("a lent buffer's base is taken as it is" src/arena.cpp
  [[sum.bytes == 0 ? 0 : padding_to_align(address, sum.alignment_bytes);]]
  [[sum.bytes == 0 ? 0 : padding_to_align(address, 1);]])
mutant("a buffer one byte too small will do" src/arena.cpp
  [[if (buffer.size() < needed)]]
  [[if (buffer.size() + 1 < needed)]])
mutant("the worst base needs no padding" src/internal/region_sum.h
  [[size.aligned_bytes + size.alignment_bytes - 1;]]
  [[size.aligned_bytes;]])
mutant("regions are summed up without aligning them" src/internal/region_sum.h
  [[checked_align_up(bytes, layout.alignment_bytes, &end)]]
  [[checked_align_up(bytes, 1, &end)]])
mutant("regions in one buffer are not aligned" src/arena.cpp
  [[offset += padding_to_align(offset, layouts[i].alignment_bytes);]]
  [[]])
mutant("what was taken before a refusal leaks" src/arena.cpp
  [[upstream_.deallocate(upstream_.user, other.base, other.size_bytes, other.alignment_bytes);]]
  [[]])
mutant("a refused commit lets go of the old arena" src/arena.cpp
  [[} else if (growth == Growth::kReleaseFirst && !is_lent_ &&]]
  [[} else if (!is_lent_ &&]])
mutant("a lent buffer is given to the upstream" src/arena.cpp
  [[if (!is_lent_ && memory->base != nullptr) {]]
  [[if (memory->base != nullptr) {]])
mutant("what a region keeps is not carried over" src/arena.cpp
  [[move_contents(wanted, count);
  moved_ = false;]]
  [[moved_ = false;]])
mutant("what a region keeps is filled" src/arena.cpp
  [[const bool is_kept = had_memory && fresh.keeps_contents;]]
  [[const bool is_kept = had_memory && false;]])
mutant("a moved arena forgets that its buffer is lent" src/arena.cpp
  [[is_lent_ = other.is_lent_;]]
  [[is_lent_ = false;]])
mutant("the heap's size wraps round" src/upstream.cpp
  [[if (size_bytes > SIZE_MAX - extra) return nullptr;]]
  [[]])

# ---- the plan as bytes

mutant("a checksum that does not fit is let pass" src/plan_bytes.cpp
  [[!= read_32(data + checked_bytes)]]
  [[== ~read_32(data + checked_bytes)]])
mutant("bytes behind a plan are let pass" src/plan_bytes.cpp
  [[if (bytes.size() != total_bytes)]]
  [[if (bytes.size() < total_bytes)]])
mutant("a plan for another model is let pass" src/plan_bytes.cpp
  [[if (plan.fingerprint() != expected_fingerprint)]]
  [[if (plan.fingerprint() > expected_fingerprint)]])
mutant("an offset is shifted before it is compared" src/plan_bytes.cpp
  [[read_number(entry + 1, offset_width_) <= last_offset_bytes >> offset_shift_]]
  [[read_number(entry + 1, offset_width_) << offset_shift_ <= last_offset_bytes]])
mutant("offset 0 of a region that does not exist is let pass" src/plan_bytes.cpp
  [[region < region_count_ || region == format::kNoRegion;]]
  [[region <= region_count_ || region == format::kNoRegion;]])
mutant("an alignment of 2^64 is let pass" src/plan_bytes.cpp
  [[if ((alignment & ~format::kKeepsContents) > 63 ||]]
  [[if ((alignment & ~format::kKeepsContents) > 64 ||]])
mutant("an arena larger than its region is let pass" src/plan_bytes.cpp
  [[if (arena_bytes(index) > size_bytes)]]
  [[if (arena_bytes(index) > size_bytes + 1)]])
mutant("offsets are as wide as the first byte that they need" src/plan_bytes_encode.cpp
  [[while ((number >>= 8) != 0) ++width;]]
  [[while ((number >>= 8) > 1) ++width;]])
mutant("a placement behind its arena is written" src/plan_bytes_encode.cpp
  [[placement.offset_bytes <= plan.arena_bytes(placement.region)]]
  [[placement.offset_bytes <= plan.arena_bytes(placement.region) + 1]])
mutant("marks of tensors do not count in a fingerprint" src/fingerprint.cpp
  [[.add(tensor.keep ? 1 : 0)]]
  [[.add(0)]])
mutant("a gap is taken as one byte larger than it is" src/online_layout.cpp
  [[size <= node.offset - begin) return root;]]
  [[size <= node.offset - begin + 1) return root;]])
mutant("what is given back does not widen the gap" src/online_layout.cpp
  [[  const Split rest = split(from.above, offset + 1);
  root_ = from.below;
  set_first_gap(rest.above, end());]]
  [[  const Split rest = split(from.above, offset + 1);
  root_ = from.below;]])
mutant("a block is given back twice" src/online_layout.cpp
  [[|| nodes_[node].next_dead != node]]
  [[]])
mutant("the largest gap of a subtree is that of its root" src/online_layout.cpp
  [[if (child != kNoNode) root.max_gap]]
  [[if (child == node) root.max_gap]])
mutant("the tail is no part of the capacity" src/online_layout.cpp
  [[capacity_ - std::min(capacity_, tail_padding_)]]
  [[capacity_]])
mutant("a view of a brought buffer begins where that does" src/model_memory.cpp
  [[base + static_cast<std::size_t>(place.offset_bytes)]]
  [[base]])
mutant("a buffer behind another one overlaps it" src/model_memory.cpp
  [[comes_before(a, b + b_size)]]
  [[!comes_before(b + b_size, a)]])
mutant("a constant's memory is handed out to be written" src/model_memory.cpp
  [[storage.is_read_only) return nullptr;]]
  [[storage.is_read_only) return const_cast<void*>(read_address(tensor));]])
mutant("a misaligned buffer is bound" src/model_memory.cpp
  [[padding_to_align(address, storage.alignment_bytes) != 0]]
  [[false]])
mutant("a tensor's own old buffer is in its way" src/model_memory.cpp
  [[if (i == own.value || ]]
  [[if (]])
mutant("two models run at once" src/shared_arena.cpp
  [[if (!shared_->take(this)) return Status(Reason::kRunInProgress);
  look_for_moves();]]
  [[static_cast<void>(shared_->take(this));
  look_for_moves();]])
mutant("what a model keeps makes the shared memory grow" src/shared_arena.cpp
  [[if (model[i].keeps_contents) continue;]]
  [[]])
mutant("shared memory stays grown for a model that was refused" src/shared_arena.cpp
  [[if (!status.ok()) static_cast<void>(shared_->provide(before));]]
  [[]])
mutant("a model is not told that trimming has moved memory" src/shared_arena.cpp
  [[if (status.ok() && arena_.moved()) ++generation_;]]
  [[]])
mutant("a skipped item is placed where it was skipped" src/packing_state.cpp
  [[raise_floor(other, packing_->fit(other, rest + 1));]]
  [[raise_floor(other, rest);]])
mutant("what was skipped is not told of risen floors" src/packing_state.cpp
  [[if (is_anywhere || (item.first_section <= last && first <= item.last_section)) support(index);]]
  [[]])
mutant("a section may be fuller than the cap" src/packing_state.cpp
  [[if (lowest > cap_ || remaining_[section] > cap_ - lowest) return fail();]]
  [[]])
mutant("a floor may be above the cap" src/packing_state.cpp
  [[risen.floor > cap_ || risen.size > cap_ - risen.floor]]
  [[false]])
mutant("rewinding leaves an item placed" src/packing_state.cpp
  [[spots_[change.index].is_placed = false;]]
  [[]])
mutant("twins need not have the same alignment" src/packing_state.cpp
  [[twin.size == item.size && twin.alignment_mask == item.alignment_mask]]
  [[twin.size == item.size]])
mutant("a piece that fails ends only itself" src/packing_search.cpp
  [[while (frames_.size() > part.split_frame)]]
  [[while (frames_.size() > part.first_frame)]])
mutant("what may overlap counts twice in a section" src/packing.cpp
  [[(items_[i].size < items_[j].size ? items_[i] : items_[j]).counted = 0;]]
  [[]])
mutant("a search sees no obstacles" src/packing.cpp
  [[if (range.end <= place) continue;]]
  [[if (range.end > 0) continue;]])
mutant("one of two that could follow is joined" src/assembly.cpp
  [[if (!is_alone(by_end_, e, &Piece::end) || !is_alone(by_begin_, b, &Piece::begin)) continue;]]
  [[static_cast<void>(e);]])
mutant("what is stacked lies on the bottom" src/assembly.cpp
  [[{above, pieces_[below].size}]]
  [[{above, 0}]])
mutant("a pinwheel's right side is of any size" src/assembly.cpp
  [[if (pieces_[right].size != pieces_[above].size + core.size) continue;]]
  [[]])
mutant("a pinwheel's upper side lies on its middle's floor" src/assembly.cpp
  [[{above, low + core.size}]]
  [[{above, low}]])
mutant("blocks of pairs are put together" src/assembly.cpp
  [[if (!is_here || block.is_fixed() || numbers_[i] != kNoNumber) continue;]]
  [[if (!is_here || block.is_fixed()) continue;]])
mutant("alignments above the unit are lost" src/assembly.cpp
  [[if (block.alignment_bytes == unit_bytes && !loose_.push_back(i)) return false;]]
  [[if (!loose_.push_back(i)) return false;]])
mutant("fixed offsets are not those of the assembled blocks" src/search.cpp
  [[if (assembled.blocks[i].is_fixed()) offsets[i] = assembled.blocks[i].fixed_offset_bytes;]]
  [[]])
mutant("what ended too high is not remembered" src/squeaky_wheel.cpp
  [[if (blames_[rank] != 0 && !blamed_.push_back(rank)) return false;]]
  [[if (blames_[rank] == 1 && !blamed_.push_back(rank)) return false;]])
mutant("blame grows for what ended low enough" src/squeaky_wheel.cpp
  [=[blames_[a] > blames_[b]]=]
  [=[blames_[a] < blames_[b]]=])
mutant("passes cost no steps" src/internal/steps.h
  [[*left -= is_enough ? count : *left;]]
  [[*left -= is_enough ? count / 2 : *left;]])
mutant("a search without a result is a proof" src/search.cpp
  [[if (outcome == PackingSearch::Outcome::kNone) floor_bytes_ = cap + unit_;]]
  [[if (outcome != PackingSearch::Outcome::kFound) floor_bytes_ = cap + unit_;]])

mutant("what may overlap carries a block" src/explain_arena.cpp
  [[return must_be_apart && !may_overlap_.has(a, b);]]
  [[return must_be_apart;]])
mutant("the smallest of equal supports carries" src/explain_arena.cpp
  [[return size_a != size_b ? size_a > size_b : a < b;]]
  [[return size_a != size_b ? size_a < size_b : a < b;]])
mutant("every gap is one of alignment" src/explain_arena.cpp
  [[padding_to_align(end_below, block.alignment_bytes) == link.gap_bytes]]
  [[padding_to_align(end_below, block.alignment_bytes) <= link.gap_bytes]])
mutant("a peak lasts one step longer" src/lower_bound.cpp
  [[peaks->back().last_use = Step(step - 1);]]
  [[peaks->back().last_use = Step(step);]])
mutant("of two that may overlap both are blamed" src/explain_limit.cpp
  [[if (rounded(other) > rounded(index)) return false;]]
  [[]])
mutant("what is not known counts as needed" src/explain_limit.cpp
  [[if (fitting == Fitting::kNotKnown) is_irreducible_ = false;]]
  [[]])
mutant("blocks are taken out although the rest fits" src/explain_limit.cpp
  [[if (fitting == Fitting::kDoesNotFit) {
          std::swap]]
  [[if (fitting == Fitting::kFits && !rest.empty()) {
          std::swap]])
mutant("a full step is taken for irreducible whatever its alignments" src/explain_limit.cpp
  [[block.alignment_bytes == unit_bytes_;]]
  [[true;]])
mutant("listed conflicts are forgotten when blocks are selected" src/fit_search.cpp
  [[renumber_pairs(problem_->conflicts, selected_as_, &listed_conflicts_) &&]]
  [[]])
mutant("a region without reuse is searched by live ranges" src/fit_search.cpp
  [[if (!reuse) block.live_range = {Step(0), Step(0)};]]
  [[static_cast<void>(reuse);]])
mutant("a placement that ends above the limit fits" src/fit_search.cpp
  [[offsets_[i] > limit_.bytes - size]]
  [[offsets_[i] > limit_.bytes]])
mutant("nothing but the whole is looked at" src/explain_limit.cpp
  [[if (fitting == Fitting::kFits || count < 2 || steps_left_ == 0) return Status();]]
  [[return Status();]])
mutant("blocks are blamed without a proof" src/fit_search.cpp
  [[if (outcome == PackingSearch::Outcome::kNone) fitting_]]
  [[if (outcome != PackingSearch::Outcome::kFound) fitting_]])

# ---- pools and allocators

mutant("a request one byte too large is given" src/internal/bump_offsets.h
  [[    if (size > capacity_bytes_ - begin) return refuse();]]
  [[    if (size > capacity_bytes_ - begin + 1) return refuse();]])
mutant("the short way passes the end of the pool" include/tenure/bump_offsets.h
  [[if (position_of(next) > whole_units_) return Offset::none();]]
  [[if (position_of(next) > whole_units_ + 1) return Offset::none();]])
mutant("a refused request takes its bytes for a moment" include/tenure/bump_offsets.h
  [[      if (position_of(next) > whole_units_) return Offset::none();]]
  [[      if (position_of(next) > whole_units_) {
        while (!state_.compare_exchange(seen, seen + pack(size_in_units(size_bytes), 0))) {
        }
        seen = state_.load();
        while (!state_.compare_exchange(seen, seen - pack(size_in_units(size_bytes), 0))) {
        }
        return Offset::none();
      }]])
mutant("a size that wraps round is given" include/tenure/bump_offsets.h
  [[    if (size_bytes > capacity_bytes_) return Offset::none();]]
  [[]])
mutant("late frees are taken for frees of what is live" include/tenure/bump_offsets.h
  [[if (waits_for_late_) return free_among_late(begin);]]
  [[]])
mutant("a free of what lies below a forced rewind is late" src/internal/bump_marks.h
  [[  if (begin < late_from_) {
    return]]
  [[  if (begin < late_from_ && false) {
    return]])
mutant("late frees are not counted before those of live blocks" src/internal/bump_marks.h
  [[if (take_one(late_)) return count_stray();]]
  [[]])
mutant("a mark keeps apart what late frees have mixed" src/internal/bump_marks.h
  [[if (live == 0 && is_doubtful) live]]
  [[if (live == 0 && is_doubtful && false) live]])
mutant("nothing is in doubt once late frees never come" src/internal/bump_marks.h
  [[if (late_.load() == 0 && live_in_doubt() == 0) waits_for_late_ = false;]]
  [[if (late_.load() == 0 && (live_in_doubt() == 0 || late == LateFrees::kNeverCome)) {
    waits_for_late_ = false;
  }]])
mutant("a free among late ones counts for the lowest blocks first" src/internal/bump_marks.h
  [[  for (std::uint32_t depth = mark_count_; !take_live(depth); --depth) {
    if (depth == lowest) return count_stray();]]
  [[  for (std::uint32_t depth = lowest; !take_live(depth); ++depth) {
    if (depth == mark_count_) return count_stray();]])
mutant("a reset widens where late frees are waited for" src/internal/bump_marks.h
  [[  } else if (blocks != 0) {
    if (!waits_for_late_]]
  [[  } else if (blocks != 0 || waits_for_late_) {
    if (!waits_for_late_]])
mutant("a reset waits on when all late frees have come" src/internal/bump_marks.h
  [[if (late_.load() == 0 && live_in_doubt() == 0) waits_for_late_ = false;]]
  [[]])
mutant("any block that ends at the position is the newest" include/tenure/bump_offsets.h
  [[const bool is_newest = newest_.load() == pack(begin, position);]]
  [[const bool is_newest = live_of(newest_.load()) == position;]])
mutant("a position and a size may wrap round together" include/tenure/bump_space.h
  [[while (capacity_bytes / unit >= UINT32_MAX / 2) unit *= 2;]]
  [[while (capacity_bytes / unit > UINT32_MAX / 2) unit *= 2;]])
mutant("a pool's base is aligned to less than its units" src/pool_memory.cpp
  [[const std::size_t alignment = base_alignment(buffer.size(), options_);]]
  [[const std::size_t alignment = options_.alignment_bytes;]])
mutant("a reset does not ask for blocks below marks" src/internal/bump_marks.h
  [[for (std::size_t i = depth; i < mark_count_; ++i) live += marks_[i].live.load();]]
  [[]])
mutant("a mark of the same depth stands in for a stale one" src/internal/bump_marks.h
  [[mark.serial < known.oldest_serial || mark.serial > known.newest_serial;]]
  [[known.oldest_serial == 0;]])
mutant("a forgotten mark takes along those at its position" src/internal/bump_marks.h
  [[mark.depth + (others_stay ? 1 : 0);]]
  [[mark.depth + (others_stay ? 0 : 0);]])
mutant("blocks above a forgotten mark are not counted" src/internal/bump_marks.h
  [[static_cast<std::uint32_t>(live_above(depth))]]
  [[live_of(state_.load())]])
mutant("what was freed below a forgotten mark is the newest" src/internal/bump_marks.h
  [[  if (newest_begin < position_at(mark_count_)) newest_.store(0);  // may have been freed since
]]
  [[  static_cast<void>(newest_begin);
]])
mutant("marks are forgotten while late frees may come" src/internal/bump_marks.h
  [[  if (waits_for_late_) return Status(Reason::kBlocksLive).live(late_.load() + live_in_doubt());
]]
  [[]])
mutant("memory changes while late frees may come" include/tenure/pool_allocator.h
  [[offsets_.live_blocks() + offsets_.late_frees();]]
  [[offsets_.live_blocks();]])
mutant("a mark of another pool is taken" src/internal/bump_marks.h
  [[mark.pool != this || ]]
  [[]])
mutant("a refused reserve lets go of the old block" src/pool_memory.cpp
  [[  const auto held_bytes = static_cast<std::size_t>(held);]]
  [[  const auto held_bytes = static_cast<std::size_t>(held);
  release();]])
mutant("a lent buffer has no tail" src/pool_memory.cpp
  [[!checked_add(padding, options_.tail_bytes, &lost)]]
  [[!checked_add(padding, 0, &lost)]])
mutant("the block above is not merged" src/free_list_offsets.cpp
  [[const bool above_is_free = nodes_[above].place != kLive;]]
  [[const bool above_is_free = false && above != kNone;]])
mutant("a free list that may be too small is taken for sure" src/internal/free_list_steps.h
  [[((granules + (1U << shift) - 1) >> shift)]]
  [[(granules >> shift)]])
mutant("what lies deep in its own list is refused" src/free_list_offsets.cpp
  [[while (bin < sure_bin) {]]
  [[while (bin < sure_bin && bin != bin_of(request.granules)) {]])
mutant("a closer fit in the lists is passed by" src/free_list_offsets.cpp
  [[(2U << power_of(size)) -]]
  [[(1U << power_of(size)) -]])
mutant("a recent block is as large as it was" src/internal/free_list_steps.h
  [[recent_sizes_[nodes_[index].place - kFirstRecent] = nodes_[index].size;]]
  [[]])
mutant("what is recent no more is in no list" src/internal/free_list_steps.h
  [[    list(recent_[place]);]]
  [[]])
mutant("what was first in a list does not know that it is second" src/internal/free_list_steps.h
  [[nodes[head == kNone ? index : head].previous = index;]]
  [[]])
mutant("what follows in a list knows one that has left" src/internal/free_list_steps.h
  [[nodes[next == kNone ? index : next].previous = previous;]]
  [[]])
mutant("a block is found by a number that another block has, too" src/free_list_offsets.cpp
  [[while (*link != kNone && !matches(nodes_[*link]))]]
  [[while (*link != kNone && false)]])
mutant("those behind a freed block are not found any more" src/free_list_offsets.cpp
  [[*link = node.next;]]
  [[*link = kNone;]])
mutant("a block takes the place of those of its number" src/internal/free_list_steps.h
  [[node.next = *bucket;]]
  [[node.next = kNone;]])
mutant("what was live when the table grew is lost" src/free_list_ranges.cpp
  [[if (nodes_[i].place == kLive) enter(i);]]
  [[]])
mutant("the budget may be passed by one byte" src/free_list_memory.cpp
  [[if (piece.held_bytes <= left_bytes) return Status();]]
  [[if (piece.held_bytes - 1 <= left_bytes) return Status();]])
mutant("what the upstream refuses is not asked for by halves" src/free_list_memory.cpp
  [[bytes > size_bytes; bytes /= 2) {]]
  [[bytes > size_bytes; bytes = 0) {]])
mutant("what is reserved goes back for a request" src/free_list_memory.cpp
  [[if (piece.is_lent || (which == Trim::kTakenForRequests && piece.is_reserved)) return false;]]
  [[if (piece.is_lent) return false;]])
mutant("pieces go back for a request that is hopeless" src/free_list_memory.cpp
  [[return piece.held_bytes <= most_bytes && trim]]
  [[return trim]])
mutant("pieces go back for what the upstream has never had" src/free_list_memory.cpp
  [[refused == Reason::kUpstreamRefused ? unused_bytes : given_bytes;]]
  [[refused == Reason::kUpstreamRefused ? given_bytes : given_bytes;]])
mutant("pieces go back for more than a piece can have" src/free_list_memory.cpp
  [[  if (!offsets_.fits_range(piece.size_bytes)) return false;
]]
  [[]])
mutant("live blocks are discarded" include/tenure/free_list_offsets.h
  [[      if (nodes_[i].place == kLive) continue;]]
  [[]])
mutant("places of models are discarded" src/model_pool.cpp
  [[    begin = place->offset_bytes + place_bytes(*place);]]
  [[    begin = place->offset_bytes;]])
mutant("the same buffer is lent twice" src/free_list_memory.cpp
  [[second - first < a_bytes && b_bytes != 0 : first - second < b_bytes;]]
  [[second - first < a_bytes && b_bytes != 0 : false;]])
mutant("a piece has no tail" src/free_list_memory.cpp
  [[!checked_add(whole, options_.tail_bytes, &held)]]
  [[!checked_add(whole, 0, &held)]])
mutant("what is freed twice reaches the allocator inside" src/guard_blocks.cpp
  [[if (record->state == State::kFreed) return report(*record, "freed twice", &counts_.double_frees);]]
  [[if (record->state == State::kFreed) report(*record, "freed twice", &counts_.double_frees);]])
mutant("what was not reset is overwritten" src/guard_blocks.cpp
  [[if (reinterpret_cast<std::uintptr_t>(record.block) - first >= memory.size()) continue;]]
  [[if (memory.empty() && first == 0) continue;]])
mutant("memory that is gone is looked at" src/guard_blocks.cpp
  [[record.has_pattern = writes_pattern && ]]
  [[record.has_pattern = (writes_pattern || true) && ]])
mutant("the second model lies at the front, too" src/model_pool.cpp
  [[entered.offset_bytes = at_back ? gap.end_bytes - needed : gap.begin_bytes;]]
  [[entered.offset_bytes = at_back ? gap.begin_bytes : gap.begin_bytes;]])
mutant("two models that run in turn run at once" src/model_pool.cpp
  [[return is_first ? Status() : Status(Reason::kRunInProgress);]]
  [[return is_first || place != nullptr ? Status() : Status(Reason::kRunInProgress);]])
mutant("a model without a place runs" include/tenure/model_area.h
  [[    if (!is_in_) return Status(Reason::kHasNoPlace);
]]
  [[]])
mutant("a place is as aligned as any region" src/model_pool.cpp
  [[bytes += sum.alignment_bytes - options.alignment_bytes;]]
  [[bytes += 0;]])
mutant("loading and running share a part" include/tenure/model_area.h
  [[PoolAllocator& current() noexcept { return is_running_ ? run_ : load_; }]]
  [[PoolAllocator& current() noexcept { return load_; }]])

# ---- the run

if(NOT CXX)
  set(CXX c++)
endif()
cmake_host_system_information(RESULT jobs QUERY NUMBER_OF_LOGICAL_CORES)
set(copy ${WORK_DIR}/source)
set(build ${WORK_DIR}/build)
file(REMOVE_RECURSE ${copy})
foreach(part CMakeLists.txt cmake include src tests)
  file(COPY ${SOURCE_DIR}/${part} DESTINATION ${copy})
endforeach()
# Newer than what an earlier run has built; only googletest is kept.
file(GLOB_RECURSE copied LIST_DIRECTORIES false ${copy}/*)
file(TOUCH ${copied})

function(build_tests result)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${build} --target tenure_tests -j ${jobs}
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(${result} ${code} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Tests that run thousands of inferences only get what the others have left. A mutant that runs
# forever is noticed too.
set(slow "Simulation.*")
function(run_tests result)
  foreach(filter "-${slow}" "${slow}")
    execute_process(COMMAND ${build}/tests/tenure_tests --gtest_brief=1 --gtest_fail_fast
        --gtest_filter=${filter}
      TIMEOUT 300 RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
    string(REGEX MATCH "FAILED  . ([A-Za-z0-9_./]+)" ignored "${output}")
    set(killer "${CMAKE_MATCH_1}")
    if(NOT killer)
      set(killer "a run that ended with ${code}")
    endif()
    if(NOT code EQUAL 0)
      break()
    endif()
  endforeach()
  set(${result} "${code}" PARENT_SCOPE)
  set(killer "${killer}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

# No build type, so that assertions are on; no sanitizer, so that tests notice by themselves.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${copy} -B ${build} -D CMAKE_CXX_COMPILER=${CXX}
    -D CMAKE_BUILD_TYPE= -D CMAKE_CXX_FLAGS=-O1 -D TENURE_BUILD_IO=OFF -D TENURE_BUILD_BENCH=OFF
    -D TENURE_BUILD_EXAMPLES=OFF -D TENURE_INSTALL=OFF
  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code)
  message(FATAL_ERROR "${output}")
endif()
build_tests(code)
if(code)
  message(FATAL_ERROR "${output}")
endif()
run_tests(code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "the tests fail without any mutant: ${killer}")
endif()

set(failures "")
foreach(number RANGE 1 ${count})
  set(file ${copy}/${mutant_${number}_file})
  set(title "${mutant_${number}_name} (${mutant_${number}_file})")
  set(original "")
  if(EXISTS ${file})
    file(READ ${file} original)
  endif()
  string(FIND "${original}" "${mutant_${number}_text}" first)
  string(FIND "${original}" "${mutant_${number}_text}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    string(APPEND failures "its text is not there exactly once: ${title}\n")
    continue()
  endif()
  string(REPLACE "${mutant_${number}_text}" "${mutant_${number}_replacement}" mutated
    "${original}")
  file(WRITE ${file} "${mutated}")
  build_tests(code)
  if(code)
    string(APPEND failures "does not compile: ${title}\n${output}\n")
  else()
    run_tests(code)
    if(code EQUAL 0)
      string(APPEND failures "survives: ${title}\n")
      message(STATUS "SURVIVES: ${title}")
    else()
      message(STATUS "killed by ${killer}: ${title}")
    endif()
  endif()
  file(WRITE ${file} "${original}")
endforeach()

if(failures)
  message(FATAL_ERROR "${failures}")
endif()
message(STATUS "all ${count} mutants are killed")
