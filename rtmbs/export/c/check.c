/* Shapes, indices and counts of a loaded mechanism, checked once: no kernel reads or writes outside of its arrays
 * afterwards, or goes on for longer than the size of the file explains.
 * A rule stands here for every array; tests/export holds the list of arrays against this file. Names are those of
 * rtmbs.system.tables, rtmbs.numerics.linear.symbolic and rtmbs.semirecursive.workspace, which say what each array means. */
#include "mechanism.h"
#include <string.h>

const rtmbs_leaf RTMBS_LEAVES[LEAF_COUNT] = {
    RTMBS_LEAF_ROWS
};

typedef const rtmbs_mechanism *M;
#define E(leaf) EXTENT(it, leaf, 0)
#define FAIL(leaf) return RTMBS_LEAVES[leaf].name
#define WANT(leaf, truth) do { if (!(truth)) FAIL(leaf); } while (0)
#define SHAPE1(leaf, a) WANT(leaf, EXTENT(it, leaf, 0) == (a))
#define SHAPE2(leaf, a, b) WANT(leaf, EXTENT(it, leaf, 0) == (a) && EXTENT(it, leaf, 1) == (b))
#define SHAPE3(leaf, a, b, c) WANT(leaf, EXTENT(it, leaf, 0) == (a) && EXTENT(it, leaf, 1) == (b) && EXTENT(it, leaf, 2) == (c))
#define RANGE(leaf, low, high) WANT(leaf, within(it, leaf, low, high))
#define POINTER(leaf, last) WANT(leaf, ascending(it, leaf, last))
#define SUB(call) do { const char *wrong = call; if (wrong) return wrong; } while (0)

/* True when every entry of an int64 array lies from low to high. */
static int within(M it, int leaf, int64_t low, int64_t high) {
    const int64_t *x = INTEGERS(it, leaf);
    int64_t count = it->words[RTMBS_LEAVES[leaf].word + 1];
    for (int64_t i = 0; i < count; i++) if (x[i] < low || x[i] > high) return 0;
    return 1;
}
/* The same of one column of a table. */
static int column(M it, int leaf, int64_t c, int64_t low, int64_t high) {
    const int64_t *x = INTEGERS(it, leaf);
    int64_t rows = EXTENT(it, leaf, 0), width = EXTENT(it, leaf, 1);
    for (int64_t i = 0; i < rows; i++) if (x[i * width + c] < low || x[i * width + c] > high) return 0;
    return 1;
}
/* True when a row of starts begins at zero, never falls and ends at last. */
static int ascending(M it, int leaf, int64_t last) {
    const int64_t *x = INTEGERS(it, leaf);
    int64_t count = EXTENT(it, leaf, 0);
    if (count < 1 || x[0] != 0 || x[count - 1] != last) return 0;
    for (int64_t i = 1; i < count; i++) if (x[i] < x[i - 1]) return 0;
    return 1;
}

#define LARGEST ((int64_t)1 << 40) /* of an index or a count: the sums and products of these checks stay in range */

/* Every number of every int64 array, before any of them is used. */
static const char *check_integers(M it) {
    for (int leaf = 0; leaf < LEAF_COUNT; leaf++)
        if (RTMBS_LEAVES[leaf].kind == 'i' && RTMBS_LEAVES[leaf].bytes == 8) RANGE(leaf, -LARGEST, LARGEST);
    return NULL;
}

enum { UNKNOWNS = 21 }; /* of an interface: its t, f and w */
typedef struct { int64_t n, g, m, mc, nc, nl, nr, nu, ns, size, depth, k0, no, nk, nb; } sizes;

static const char *check_dofs(M it, const sizes *s) {
    int64_t n = s->n;
    SHAPE1(L_tables_dofs_parent, n); SHAPE1(L_tables_dofs_base, n); SHAPE1(L_tables_dofs_tip, n);
    SHAPE3(L_tables_dofs_offset_rotation, n, 3, 3); SHAPE1(L_tables_dofs_turned, n); SHAPE2(L_tables_dofs_offset, n, 3);
    SHAPE2(L_tables_dofs_axis, n, 3); SHAPE1(L_tables_dofs_pitch, n); SHAPE1(L_tables_dofs_reference, n);
    SHAPE1(L_tables_dofs_mass, n); SHAPE2(L_tables_dofs_mass_center, n, 3); SHAPE3(L_tables_dofs_inertia, n, 3, 3);
    RANGE(L_tables_dofs_kind, 0, 2); RANGE(L_tables_dofs_tip, 0, n - 1); RANGE(L_tables_dofs_turned, 0, 1);
    RANGE(L_tables_dofs_reference, -1, s->nr - 1);
    const int64_t *kind = INTEGERS(it, L_tables_dofs_kind), *reference = INTEGERS(it, L_tables_dofs_reference);
    for (int64_t i = 0; i < n; i++) {
        if (INTEGERS(it, L_tables_dofs_parent)[i] >= i || INTEGERS(it, L_tables_dofs_parent)[i] < -1 - s->g)
            FAIL(L_tables_dofs_parent);
        if (INTEGERS(it, L_tables_dofs_base)[i] >= i || INTEGERS(it, L_tables_dofs_base)[i] < -1 - s->g)
            FAIL(L_tables_dofs_base);
        if (reference[i] >= 0 && !(i + 2 < n && kind[i] == 2 && kind[i + 1] == 2 && kind[i + 2] == 2 &&
                                   reference[i + 1] < 0 && reference[i + 2] < 0)) FAIL(L_tables_dofs_reference);
        if (kind[i] == 2 && reference[i] < 0 && !((i >= 1 && reference[i - 1] >= 0) || (i >= 2 && reference[i - 2] >= 0)))
            FAIL(L_tables_dofs_kind);
    }
    SHAPE1(L_tables_origins_row, n); SHAPE2(L_tables_origins_fixed, s->g, 3); SHAPE1(L_tables_origins_grid, s->g);
    SHAPE1(L_tables_origins_pointer, s->g + 1); RANGE(L_tables_origins_row, -1 - s->g, -1);
    POINTER(L_tables_origins_pointer, E(L_tables_origins_dof)); RANGE(L_tables_origins_dof, 0, n - 1);
    SHAPE2(L_tables_origins_direction, E(L_tables_origins_dof), 3);
    WANT(L_tables_origins_fixed, s->g <= n); WANT(L_tables_origins_dof, E(L_tables_origins_dof) <= n); WANT(L_R0, s->nr <= n);
    return NULL;
}

static const char *check_paths(M it, const sizes *s) {
    int64_t n = s->n, paths = E(L_tables_paths_dof), longest = 0;
    const int64_t *pointer = INTEGERS(it, L_tables_paths_pointer);
    SHAPE1(L_tables_paths_pointer, n + 1); POINTER(L_tables_paths_pointer, paths);
    SHAPE1(L_tables_paths_entry, paths); SHAPE1(L_tables_paths_entry_transposed, paths);
    RANGE(L_tables_paths_dof, 0, n - 1); RANGE(L_tables_paths_entry, 0, s->size - 1);
    RANGE(L_tables_paths_entry_transposed, 0, s->size - 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t length = pointer[i + 1] - pointer[i];
        if (length < 1 || length > s->depth) FAIL(L_tables_paths_pointer);
        if (length > longest) longest = length;
        if (INTEGERS(it, L_tables_dofs_reference)[i] >= 0 &&
            (pointer[i + 2] - pointer[i + 1] < 2 || pointer[i + 3] - pointer[i + 2] < 3)) FAIL(L_tables_paths_pointer);
    }
    SHAPE2(L_ws_path, 17, longest); SHAPE1(L_ws_held, s->depth + 1);
    int64_t interfaces = E(L_tables_interfaces_dof), above = E(L_tables_interfaces_above);
    RANGE(L_tables_interfaces_dof, 0, n - 1); SHAPE1(L_tables_interfaces_of, n);
    RANGE(L_tables_interfaces_of, -1, interfaces - 1); SHAPE1(L_tables_interfaces_pointer, interfaces + 1);
    POINTER(L_tables_interfaces_pointer, above); SHAPE2(L_tables_interfaces_above, above, 15);
    WANT(L_tables_interfaces_below, EXTENT(it, L_tables_interfaces_below, 1) == 15);
    RANGE(L_tables_interfaces_above, 0, s->size - 1); RANGE(L_tables_interfaces_below, -1, s->size - 1);
    RANGE(L_tables_interfaces_one, 0, s->size - 1); RANGE(L_tables_interfaces_minus, 0, s->size - 1);
    WANT(L_tables_interfaces_dof, interfaces <= n); WANT(L_tables_interfaces_below, E(L_tables_interfaces_below) <= n);
    WANT(L_tables_interfaces_one, E(L_tables_interfaces_one) <= UNKNOWNS * interfaces);
    WANT(L_tables_interfaces_minus, E(L_tables_interfaces_minus) <= UNKNOWNS * interfaces);
    for (int64_t i = 0; i < n; i++)
        if (INTEGERS(it, L_tables_interfaces_of)[i] >= 0 && i >= E(L_tables_interfaces_below)) FAIL(L_tables_interfaces_of);
    for (int64_t r = 0; r < interfaces; r++) {
        int64_t dof = INTEGERS(it, L_tables_interfaces_dof)[r];
        const int64_t *start = INTEGERS(it, L_tables_interfaces_pointer);
        if (start[r + 1] - start[r] > pointer[dof + 1] - pointer[dof]) FAIL(L_tables_interfaces_pointer);
    }
    return NULL;
}

static int64_t width_of(M it, int64_t connector) {
    const int64_t *pointer = INTEGERS(it, L_tables_connectors_pointer);
    return pointer[connector + 1] - pointer[connector];
}

static const char *check_closures(M it, const sizes *s) {
    int64_t nl = s->nl, nc = s->nc, mc = s->mc, low = -1 - s->g, entries = E(L_ws_Phi_z);
    SHAPE1(L_tables_connectors_b, nl); RANGE(L_tables_connectors_a, low, s->n - 1);
    RANGE(L_tables_connectors_b, low, s->n - 1); SHAPE1(L_tables_connectors_pointer, nl + 1);
    POINTER(L_tables_connectors_pointer, E(L_tables_connectors_dof)); RANGE(L_tables_connectors_dof, 0, s->n - 1);
    SHAPE1(L_tables_connectors_sign, E(L_tables_connectors_dof)); SHAPE1(L_tables_connectors_block_pointer, nl + 1);
    POINTER(L_tables_connectors_block_pointer, E(L_tables_connectors_entry));
    RANGE(L_tables_connectors_entry, 0, s->size - 1);
    const int64_t *block = INTEGERS(it, L_tables_connectors_block_pointer);
    for (int64_t l = 0; l < nl; l++)
        if (block[l + 1] != block[l] && block[l + 1] - block[l] != width_of(it, l) * width_of(it, l)) FAIL(L_tables_connectors_block_pointer);
    SHAPE1(L_tables_closures_connector, nc); RANGE(L_tables_closures_connector, 0, nl - 1);
    SHAPE1(L_tables_closures_row_pointer, nc + 1); POINTER(L_tables_closures_row_pointer, mc);
    SHAPE2(L_tables_closures_point_a, nc, 3); SHAPE2(L_tables_closures_point_b, nc, 3);
    RANGE(L_tables_closures_kind, 0, 7); SHAPE2(L_tables_closures_axis_a, mc, 3); SHAPE2(L_tables_closures_axis_b, mc, 3);
    SHAPE1(L_tables_closures_length, mc); SHAPE1(L_tables_closures_slot, mc); SHAPE1(L_tables_closures_assembly_offset, mc);
    RANGE(L_tables_closures_slot, -1, s->nu - 3); SHAPE1(L_tables_closures_entry_pointer, nc + 1);
    POINTER(L_tables_closures_entry_pointer, entries);
    const int64_t *row = INTEGERS(it, L_tables_closures_row_pointer), *entry = INTEGERS(it, L_tables_closures_entry_pointer);
    for (int64_t l = 0; l < nc; l++)
        if (entry[l + 1] - entry[l] != (row[l + 1] - row[l]) * width_of(it, INTEGERS(it, L_tables_closures_connector)[l]))
            FAIL(L_tables_closures_entry_pointer);
    int64_t nd = s->m - mc, nj = E(L_tables_joint_forces_dof);
    SHAPE1(L_tables_drivers_dof, nd); SHAPE1(L_tables_drivers_slot, nd); SHAPE1(L_tables_drivers_entry, nd);
    RANGE(L_tables_drivers_dof, 0, s->n - 1); RANGE(L_tables_drivers_slot, 0, s->nu - 3);
    RANGE(L_tables_drivers_entry, 0, s->size - 1);
    SHAPE1(L_tables_joint_forces_slot, nj); SHAPE1(L_tables_joint_forces_entry, nj);
    RANGE(L_tables_joint_forces_dof, 0, s->n - 1); RANGE(L_tables_joint_forces_slot, 0, s->nu - 4);
    RANGE(L_tables_joint_forces_entry, 0, s->size - 1);
    return NULL;
}

/* Closures over long branches, and what sections of a deep tree have beside them. */
static const char *check_condensed(M it, const sizes *s) {
    int64_t k = E(L_tables_condensed_closure), ends = E(L_tables_condensed_dof), places = E(L_tables_condensed_pulled);
    int64_t last = s->size - 1, sections = E(L_tables_interfaces_inertia), twists = E(L_tables_interfaces_twist);
    SHAPE2(L_tables_interfaces_inertia, sections ? E(L_tables_interfaces_dof) : 0, 54);
    RANGE(L_tables_interfaces_inertia, 0, last); SHAPE2(L_ws_section, sections, 22);
    SHAPE2(L_tables_interfaces_twist, twists ? E(L_tables_interfaces_above) : 0, 6); RANGE(L_tables_interfaces_twist, 0, last);
    RANGE(L_tables_condensed_closure, 0, s->nc - 1); SHAPE1(L_tables_condensed_pointer, k + 1);
    POINTER(L_tables_condensed_pointer, ends); RANGE(L_tables_condensed_dof, 0, s->n - 1);
    SHAPE1(L_tables_condensed_sign, ends); SHAPE1(L_tables_condensed_row, k + 1); SHAPE1(L_tables_condensed_place, k);
    const int64_t *row = INTEGERS(it, L_tables_condensed_row), *pointer = INTEGERS(it, L_tables_condensed_pointer);
    int64_t mu = row[k];
    POINTER(L_tables_condensed_row, mu); SHAPE1(L_tables_condensed_seen, places);
    RANGE(L_tables_condensed_place, 0, places); RANGE(L_tables_condensed_pulled, 0, last);
    RANGE(L_tables_condensed_seen, 0, last); SHAPE2(L_tables_condensed_interface, k, 2);
    RANGE(L_tables_condensed_interface, -1, E(L_tables_interfaces_dof) - 1);
    int64_t next = 0;
    for (int64_t c = 0; c < k; c++) {
        int64_t rows = row[c + 1] - row[c], l = INTEGERS(it, L_tables_condensed_closure)[c];
        const int64_t *begin = INTEGERS(it, L_tables_closures_row_pointer);
        if (rows != begin[l + 1] - begin[l]) FAIL(L_tables_condensed_row);
        if (INTEGERS(it, L_tables_condensed_place)[c] != next) FAIL(L_tables_condensed_place);
        next += rows * (pointer[c + 1] - pointer[c]);
    }
    WANT(L_tables_condensed_place, next == places); SHAPE1(L_tables_condensed_one, mu + 12 * k);
    SHAPE3(L_tables_condensed_twist, mu, 2, 6); SHAPE3(L_tables_condensed_wrench, mu, 2, 6);
    SHAPE2(L_tables_condensed_turned, ends, 6); SHAPE2(L_tables_condensed_turning, ends, 12);
    SHAPE3(L_tables_condensed_turned_wrench, k, 2, 6); SHAPE3(L_tables_condensed_turning_twist, k, 2, 12);
    RANGE(L_tables_condensed_twist, -1, last); RANGE(L_tables_condensed_wrench, -1, last);
    RANGE(L_tables_condensed_turned, -1, last); RANGE(L_tables_condensed_turning, -1, last);
    RANGE(L_tables_condensed_turned_wrench, -1, last); RANGE(L_tables_condensed_turning_twist, -1, last);
    RANGE(L_tables_condensed_one, 0, last);
    return NULL;
}

static const char *check_contacts(M it, const sizes *s) {
    int64_t nk = E(L_tables_contacts_normal), k = 0;
    SHAPE1(L_tables_contacts_first, 1); SHAPE1(L_tables_conditions_first, 2); RANGE(L_tables_contacts_first, 0, s->nc);
    RANGE(L_tables_conditions_first, 0, s->nc);
    int64_t first = INTEGERS(it, L_tables_contacts_first)[0], end = INTEGERS(it, L_tables_conditions_first)[0];
    WANT(L_tables_contacts_first, end - first == nk); SHAPE2(L_tables_contacts_normal, nk, 3);
    SHAPE1(L_tables_contacts_radius, nk); SHAPE1(L_tables_contacts_crown, nk);
    RANGE(L_tables_contacts_rate_row, 0, s->mc - 1);
    const int64_t *row = INTEGERS(it, L_tables_closures_row_pointer), *kind = INTEGERS(it, L_tables_closures_kind);
    for (int64_t l = 0; l < s->nc; l++)
        for (int64_t r = row[l]; r < row[l + 1]; r++) {
            int64_t wanted = row[l + 1] - row[l] == 1 ? 7 : r == row[l] ? 5 : 6;
            if ((l >= first && l < end) ? kind[r] != wanted : kind[r] > 4) FAIL(L_tables_closures_kind);
            if (kind[r] < 6) continue;
            if (k >= E(L_tables_contacts_rate_row) || INTEGERS(it, L_tables_contacts_rate_row)[k] != r)
                FAIL(L_tables_contacts_rate_row);
            k++;
        }
    WANT(L_tables_contacts_rate_row, k == E(L_tables_contacts_rate_row));
    return NULL;
}

static const char *check_conditions(M it, const sizes *s) {
    int64_t nk = E(L_tables_conditions_frame_a), ni = E(L_tables_conditions_dof), nq = E(L_tables_conditions_scale);
    int64_t slopes = E(L_ws_pose_slope), bends = E(L_ws_pose_bend), looks = 13 * nk + ni;
    const int64_t *first = INTEGERS(it, L_tables_conditions_first), *row = INTEGERS(it, L_tables_closures_row_pointer);
    SHAPE1(L_tables_conditions_first, 2); RANGE(L_tables_conditions_first, 0, s->nc); SHAPE1(L_tables_couplers_first, 1);
    RANGE(L_tables_couplers_first, first[1], s->nc); WANT(L_tables_conditions_first, first[1] - first[0] == nk);
    int64_t last = INTEGERS(it, L_tables_couplers_first)[0];
    SHAPE3(L_tables_conditions_frame_a, nk, 3, 4); SHAPE3(L_tables_conditions_frame_b, nk, 3, 4);
    SHAPE1(L_tables_conditions_clock, 1); RANGE(L_tables_conditions_clock, 0, s->nu - 1);
    RANGE(L_tables_conditions_slot, 0, s->nu - 1); RANGE(L_tables_conditions_dof, -1, s->n - 1);
    SHAPE1(L_tables_conditions_input, nq); SHAPE1(L_tables_conditions_place, nq + 1);
    SHAPE1(L_tables_conditions_square, nq + 1); POINTER(L_tables_conditions_place, slopes);
    POINTER(L_tables_conditions_square, bends); RANGE(L_tables_conditions_input, 0, looks);
    WANT(L_tables_conditions_slope, EXTENT(it, L_tables_conditions_slope, 1) == 2);
    WANT(L_tables_conditions_bend, EXTENT(it, L_tables_conditions_bend, 1) == 3);
    WANT(L_tables_conditions_slope, column(it, L_tables_conditions_slope, 0, 0, nq - 1));
    WANT(L_tables_conditions_bend, column(it, L_tables_conditions_bend, 0, 0, nq - 1));
    if (s->nc) WANT(L_tables_conditions_scale, row[last] - row[first[0]] == nq);
    const int64_t *place = INTEGERS(it, L_tables_conditions_place), *square = INTEGERS(it, L_tables_conditions_square);
    for (int64_t l = first[0], q = 0; l < last; l++)
        for (int64_t r = row[l]; r < row[l + 1]; r++, q++) {
            int64_t wide = place[q + 1] - place[q], width = width_of(it, INTEGERS(it, L_tables_closures_connector)[l]);
            int64_t from = INTEGERS(it, L_tables_conditions_input)[q];
            if (INTEGERS(it, L_tables_closures_kind)[r] != 4) FAIL(L_tables_closures_kind);
            if (wide != (l < first[1] ? 7 : width + 1) || square[q + 1] - square[q] != wide * wide)
                FAIL(L_tables_conditions_place);
            if (l < first[1] ? from > 13 * nk - 13 : (from < 13 * nk || from + wide > looks)) FAIL(L_tables_conditions_input);
        }
    for (int64_t r = 0; r < s->mc; r++)
        if (INTEGERS(it, L_tables_closures_kind)[r] == 4 && !(r >= row[first[0]] && r < row[last])) FAIL(L_tables_closures_kind);
    for (int leaf = L_tables_conditions_slope; leaf <= L_tables_conditions_bend; leaf++)
        for (int64_t e = 0; e < EXTENT(it, leaf, 0); e++) {
            const int64_t *x = INTEGERS(it, leaf) + e * EXTENT(it, leaf, 1);
            int64_t wide = place[x[0] + 1] - place[x[0]];
            int64_t most = INTEGERS(it, L_tables_conditions_input)[x[0]] < 13 * nk ? 13 : wide;
            for (int64_t c = 1; c < EXTENT(it, leaf, 1); c++) if (x[c] < 0 || x[c] >= most) FAIL(leaf);
        }
    int64_t couplers = 0;
    for (int64_t r = row[last]; r < s->mc; r++) if (INTEGERS(it, L_tables_closures_kind)[r] != 3) FAIL(L_tables_closures_kind);
    for (int64_t r = 0; r < row[last]; r++) if (INTEGERS(it, L_tables_closures_kind)[r] == 3) FAIL(L_tables_closures_kind);
    for (int64_t l = last; l < s->nc; l++)
        couplers += (row[l + 1] - row[l]) * width_of(it, INTEGERS(it, L_tables_closures_connector)[l]);
    SHAPE1(L_tables_couplers_ratio, couplers);
    SHAPE1(L_ws_pose_input, looks); SHAPE1(L_ws_pose_number, looks);
    SHAPE1(L_ws_pose_parameter, E(L_tables_conditions_slot)); SHAPE1(L_ws_pose_value, nq);
    WANT(L_ws_pose_output, nq == 0 || E(L_ws_pose_output) == nq + E(L_tables_conditions_slope) + E(L_tables_conditions_bend));
    return NULL;
}

/* Contact sets are not exported: nothing looks for pairs that come near. */
static const char *check_sets(M it, const sizes *s) {
    SHAPE1(L_tables_sets_dof, 0); SHAPE2(L_tables_sets_point, 0, 3); SHAPE2(L_tables_sets_normal, 0, 3);
    SHAPE1(L_tables_sets_radius, 0); SHAPE1(L_tables_sets_connector, 0); SHAPE1(L_tables_sets_planes, 0);
    SHAPE1(L_tables_sets_member_pointer, 1); RANGE(L_tables_sets_member_pointer, 0, 0);
    SHAPE1(L_tables_sets_pair_pointer, 1); RANGE(L_tables_sets_pair_pointer, 0, 0);
    SHAPE1(L_tables_sets_slot, 0); SHAPE1(L_tables_sets_friction, 0); SHAPE2(L_tables_sets_law, 0, 9);
    SHAPE1(L_tables_sets_first, 1); RANGE(L_tables_sets_first, 0, 0);
    WANT(L_ws_touch, E(L_ws_touch) == 0); WANT(L_ws_begin_pair, E(L_ws_begin_pair) == 0); SHAPE2(L_ws_touching, 0, 2); SHAPE1(L_ws_set_share, 3);
    SHAPE2(L_ws_set_wrench, 0, 6); SHAPE2(L_ws_set_motion, 0, 12); SHAPE1(L_ws_set_force, 0);
    SHAPE2(L_ws_krylov, 0, s->n); SHAPE2(L_ws_hessenberg, 0, 0);
    return NULL;
}

static const char *check_forces(M it, const sizes *s) {
    int64_t springs = E(L_tables_forces_springs_connector), given = E(L_tables_forces_wrenches_connector);
    int64_t bushings = E(L_tables_forces_bushings_connector), points = EXTENT(it, L_tables_forces_bushings_place, 2);
    RANGE(L_tables_forces_springs_connector, 0, s->nl - 1); RANGE(L_tables_forces_springs_slot, 0, s->nu - 4);
    SHAPE2(L_tables_forces_springs_point_a, springs, 3); SHAPE2(L_tables_forces_springs_point_b, springs, 3);
    SHAPE1(L_tables_forces_springs_slot, springs);
    RANGE(L_tables_forces_wrenches_connector, 0, s->nl - 1); RANGE(L_tables_forces_wrenches_slot, 0, s->nu - 6);
    SHAPE2(L_tables_forces_wrenches_point, given, 3); SHAPE3(L_tables_forces_wrenches_axes, given, 3, 3);
    SHAPE1(L_tables_forces_wrenches_follows, given); RANGE(L_tables_forces_wrenches_follows, 0, 1);
    SHAPE1(L_tables_forces_wrenches_slot, given);
    RANGE(L_tables_forces_bushings_connector, 0, s->nl - 1); RANGE(L_tables_forces_bushings_slot, 0, s->nu - 78);
    SHAPE3(L_tables_forces_bushings_frame_a, bushings, 3, 4); SHAPE3(L_tables_forces_bushings_frame_b, bushings, 3, 4);
    SHAPE2(L_tables_forces_bushings_knots, bushings, 6); RANGE(L_tables_forces_bushings_knots, 0, points);
    for (int64_t k = 0; k < 6 * bushings; k++)
        if (INTEGERS(it, L_tables_forces_bushings_knots)[k] == 1) FAIL(L_tables_forces_bushings_knots);
    SHAPE3(L_tables_forces_bushings_place, bushings, 6, points); SHAPE3(L_tables_forces_bushings_force, bushings, 6, points);
    SHAPE3(L_tables_forces_bushings_rise, bushings, 6, points); SHAPE3(L_tables_forces_bushings_stored, bushings, 6, points);
    SHAPE1(L_tables_forces_bushings_slot, bushings);
    WANT(L_turns, E(L_turns) == bushings && EXTENT(it, L_turns, 1) == 3); SHAPE1(L_turning, bushings);
    RANGE(L_turning, 0, 1); SHAPE2(L_outputs_springs, springs, SPRING_NUMBERS);
    SHAPE2(L_outputs_given, given, GIVEN_NUMBERS); SHAPE2(L_outputs_bushings, bushings, BUSHING_NUMBERS);
    return NULL;
}

static const char *check_laws(M it, const sizes *s) {
    const int64_t *counts = INTEGERS(it, L_tables_laws_counts);
    int64_t nk = E(L_tables_laws_connector), no = E(L_tables_laws_row), ni = E(L_tables_laws_input);
    int64_t nf = E(L_tables_laws_force_entry), ns = s->ns, slopes = E(L_ws_state_slope), inputs = 18 * nk + ni;
    SHAPE1(L_tables_laws_counts, 4); WANT(L_tables_laws_counts, counts[0] == nk && counts[1] == no && counts[2] == ni);
    WANT(L_tables_laws_counts, counts[3] >= 0 && counts[3] <= nf);
    RANGE(L_tables_laws_slot, 0, s->nu - 1); RANGE(L_tables_laws_connector, 0, s->nl - 1);
    SHAPE3(L_tables_laws_frame_a, nk, 3, 4); SHAPE3(L_tables_laws_frame_b, nk, 3, 4);
    WANT(L_tables_laws_wrench_entry, EXTENT(it, L_tables_laws_wrench_entry, 1) == 3);
    WANT(L_tables_laws_wrench_entry, column(it, L_tables_laws_wrench_entry, 0, 0, nk - 1) &&
         column(it, L_tables_laws_wrench_entry, 1, 0, 5) && column(it, L_tables_laws_wrench_entry, 2, 0, 17));
    RANGE(L_tables_laws_row, 0, s->n - 1);
    WANT(L_tables_laws_input, EXTENT(it, L_tables_laws_input, 1) == 2);
    WANT(L_tables_laws_input, column(it, L_tables_laws_input, 0, 0, s->n - 1) && column(it, L_tables_laws_input, 1, 0, 1));
    WANT(L_tables_laws_force_entry, EXTENT(it, L_tables_laws_force_entry, 1) == 4);
    WANT(L_tables_laws_force_entry, column(it, L_tables_laws_force_entry, 0, 0, no - 1) &&
         column(it, L_tables_laws_force_entry, 1, 0, ni - 1) && column(it, L_tables_laws_force_entry, 2, 0, 1) &&
         column(it, L_tables_laws_force_entry, 3, 0, s->size - 1));
    RANGE(L_tables_laws_state_place, 0, slopes - 1);
    WANT(L_tables_laws_state_block, EXTENT(it, L_tables_laws_state_block, 1) == 11);
    const int64_t *b = INTEGERS(it, L_tables_laws_state_block);
    int64_t k0 = EXTENT(it, L_ws_state_matrix, 0), wide = EXTENT(it, L_ws_state_right, 1), states = 0, most = 0, seen_most = 0, begins = 0;
    SHAPE2(L_ws_state_matrix, k0, k0); WANT(L_ws_state_right, EXTENT(it, L_ws_state_right, 0) == k0);
    for (int64_t r = 0; r < E(L_tables_laws_state_block); r++, b += 11) {
        int64_t k = b[1], acts = b[3], looks = b[5], law = b[7], force = b[2] - 6 * nk;
        int64_t sizes_ok = k > 0 && k <= k0 && acts > 0 && acts <= 1 << 20 && looks > 0 && looks <= wide;
        if (!sizes_ok || b[0] < 0 || b[0] + k > ns || b[4] < 0 || b[4] + looks > inputs) FAIL(L_tables_laws_state_block);
        if (b[6] < 0 || b[6] + acts * k + k * looks + k * k > slopes) FAIL(L_tables_laws_state_block);
        if (law < -1 || law >= nk || (law >= 0 && (acts != 6 || looks != 18))) FAIL(L_tables_laws_state_block);
        if (b[10] < 0 || b[10] > E(L_tables_laws_begins_kind)) FAIL(L_tables_laws_state_block);
        begins |= b[10];
        if (b[9] < 0 || nf + b[8] < 0 || nf + b[8] + b[9] > nf) FAIL(L_tables_laws_state_block);
        if (law < 0 && (force < 0 || force + acts > no || b[4] < 18 * nk)) FAIL(L_tables_laws_state_block);
        for (int64_t e = nf + b[8]; law < 0 && e < nf + b[8] + b[9]; e++) {
            const int64_t *x = INTEGERS(it, L_tables_laws_force_entry) + 4 * e;
            int64_t seen = 18 * nk + x[1] - b[4];
            if (x[0] < force || x[0] >= force + acts || seen < 0 || seen >= looks) FAIL(L_tables_laws_force_entry);
        }
        states += k, most = k > most ? k : most, seen_most = looks > seen_most ? looks : seen_most;
    }
    WANT(L_tables_laws_state_block, states == ns && most == k0 && seen_most == wide);
    SHAPE1(L_ws_law_input, inputs); SHAPE1(L_ws_law_number, inputs + ns); SHAPE1(L_ws_law_parameter, E(L_tables_laws_slot));
    int64_t outputs = 6 * nk + no + E(L_tables_laws_wrench_entry) + counts[3] + ns + E(L_tables_laws_state_place);
    WANT(L_ws_law_output, E(L_ws_law_output) == (nk + no ? outputs : 0));
    SHAPE2(L_ws_law_wrench, nk, 6); SHAPE3(L_ws_law_local, nk, 6, 12); SHAPE1(L_ws_law_force, no); SHAPE1(L_ws_law_entry, nf);
    SHAPE1(L_ws_law_left, 2);
    SHAPE1(L_ws_s, ns); SHAPE1(L_ws_state_rate, ns); SHAPE1(L_ws_begun_sd, ns); SHAPE1(L_ws_state_base, ns); SHAPE1(L_ws_state_change, ns);
    SHAPE2(L_ws_state_search, E(L_tables_laws_state_block), 3); SHAPE2(L_ws_state_kept, ns, 2);
    SHAPE2(L_ws_begin, E(L_tables_laws_state_block), 6); SHAPE1(L_ws_begin_share, ns); SHAPE2(L_ws_begin_state, 3, ns);
    SHAPE2(L_ws_begin_input, 2, begins ? inputs : 0);
    SHAPE1(L_ws_state_half, 1); SHAPE1(L_ws_rate_share, 1); SHAPE1(L_outputs_law_forces, no);
    return NULL;
}

/* Memory of a program holds its constants and inputs, and a result of each instruction at most. */
static const char *check_memory(M it, int leaf, int memory, int64_t inputs) {
    WANT(memory, E(memory) <= E(leaf + 7) + inputs + E(leaf + 5));
    return NULL;
}

/* A program: memory holds its slots, every operand is a slot, and runs are the code, one after the other. `leaf` is its
 * first array, `operation`; x, p and y are the numbers of its independents, parameters and outputs. */
static const char *check_program(M it, int leaf, int memory, int64_t x, int64_t p, int64_t y) {
    int added = leaf + 1, subtracted = leaf + 2, count = leaf + 3, start = leaf + 4, code = leaf + 5, output = leaf + 6;
    int constants = leaf + 7, sizes_leaf = leaf + 8;
    const int32_t *op = DATA(it, leaf), *plus = DATA(it, added), *minus = DATA(it, subtracted), *times = DATA(it, count);
    const int64_t *from = INTEGERS(it, start);
    const uint32_t *operand = DATA(it, code);
    int64_t runs = E(leaf), length = E(code), slots = E(memory), next = 0;
    SHAPE1(added, runs); SHAPE1(subtracted, runs); SHAPE1(count, runs); SHAPE1(start, runs); SHAPE1(sizes_leaf, 3);
    if (runs == 0 && E(output) == 0) { WANT(output, y == 0); return NULL; }
    WANT(constants, E(constants) + x + p <= slots);
    SHAPE1(output, y);
    for (int64_t k = 0; k < length; k++) if (operand[k] >= (uint64_t)slots) FAIL(code);
    for (int64_t k = 0; k < y; k++)
        if (((const int32_t *)DATA(it, output))[k] < 0 || ((const int32_t *)DATA(it, output))[k] >= slots) FAIL(output);
    for (int64_t r = 0; r < runs; r++) {
        if (plus[r] < 0 || minus[r] < 0 || times[r] < 1) FAIL(leaf);
        if (from[r] != next) FAIL(start);
        int64_t each = op[r] == OP_SUM ? 1 + 2 * ((int64_t)plus[r] + minus[r]) : op[r] <= OP_TRUTH ? 2 : op[r] < OP_SELECT ? 3 : 4;
        if (op[r] < 2 || op[r] > OP_SUM || times[r] > (length - next) / each) FAIL(start);
        next += times[r] * each;
    }
    WANT(code, next == length);
    return NULL;
}

/* A program of laws in lanes: rows of eight numbers; what it takes and gives stands in tables of slot, lane, place.
   Without runs no kernel looks at the rest. */
#define CHECK_LANES(LANES, MEMORY) \
    static const char *check_law_##LANES(M it) { \
        int64_t slots = E(L_ws_law_##MEMORY), inputs = E(L_ws_law_number), runs = E(L_tables_laws_##LANES##_lanes); \
        int64_t given = E(L_tables_laws_##LANES##_given), outputs = E(L_tables_laws_##LANES##_program_output); \
        WANT(L_ws_law_##MEMORY, EXTENT(it, L_ws_law_##MEMORY, 1) == 8); \
        WANT(L_tables_laws_##LANES##_constants, EXTENT(it, L_tables_laws_##LANES##_constants, 1) == 8); \
        SHAPE2(L_tables_laws_##LANES##_given, given, 3); \
        SUB(check_memory(it, L_tables_laws_##LANES##_program_operation, L_ws_law_##MEMORY, given)); \
        SHAPE2(L_tables_laws_##LANES##_found, E(L_tables_laws_##LANES##_found), 3); \
        SHAPE1(L_tables_laws_##LANES##_first, 2); \
        if (runs == 0) return NULL; \
        SHAPE1(L_tables_laws_##LANES##_program_operation, runs); RANGE(L_tables_laws_##LANES##_lanes, 0, 8); \
        SUB(check_program(it, L_tables_laws_##LANES##_program_operation, L_ws_law_##MEMORY, 0, 0, outputs)); \
        int64_t n = INTEGERS(it, L_tables_laws_##LANES##_program_sizes)[0]; \
        WANT(L_tables_laws_##LANES##_program_sizes, n >= 0 && n <= inputs); \
        WANT(L_tables_laws_##LANES##_given, column(it, L_tables_laws_##LANES##_given, 0, 0, slots - 1) && \
             column(it, L_tables_laws_##LANES##_given, 1, 0, 7) && \
             column(it, L_tables_laws_##LANES##_given, 2, 0, n + E(L_tables_laws_slot) - 1)); \
        WANT(L_tables_laws_##LANES##_found, column(it, L_tables_laws_##LANES##_found, 0, 0, slots - 1) && \
             column(it, L_tables_laws_##LANES##_found, 1, 0, 7) && \
             column(it, L_tables_laws_##LANES##_found, 2, 0, E(L_ws_law_output) - 1)); \
        const int64_t *first = INTEGERS(it, L_tables_laws_##LANES##_first); \
        WANT(L_tables_laws_##LANES##_first, first[0] >= 0 && first[0] <= runs && first[1] >= 0 && \
             first[1] <= E(L_tables_laws_##LANES##_found)); \
        return NULL; \
    }
CHECK_LANES(lanes, lanes)
CHECK_LANES(rates, rates)

/* The program of contacts that begin: each takes a lane when it begins. Laws are checked before. */
static const char *check_law_begins(M it) {
    int64_t slots = E(L_ws_begin_lanes), functions = E(L_tables_laws_begins_kind), runs = E(L_ws_begin_used);
    int64_t given = E(L_tables_laws_begins_given), found = E(L_tables_laws_begins_found);
    WANT(L_ws_begin_lanes, EXTENT(it, L_ws_begin_lanes, 1) == 8);
    SHAPE1(L_ws_begin_seat, functions); RANGE(L_ws_begin_seat, -1, 7); RANGE(L_ws_begin_used, 0, 8);
    SHAPE1(L_tables_laws_begins_slot, functions); SHAPE2(L_tables_laws_begins_pointer, functions + 1, 3);
    SHAPE2(L_tables_laws_begins_given, given, 2); SHAPE2(L_tables_laws_begins_found, found, 2);
    SUB(check_memory(it, L_tables_laws_begins_program_operation, L_ws_begin_lanes, given));
    SHAPE1(L_tables_laws_begins_program_operation, runs);
    if (functions == 0) { WANT(L_ws_begin_used, runs == 0); return NULL; }
    SUB(check_program(it, L_tables_laws_begins_program_operation, L_ws_begin_lanes, 0, 0,
                      E(L_tables_laws_begins_program_output)));
    int64_t n = INTEGERS(it, L_tables_laws_begins_program_sizes)[0];
    WANT(L_tables_laws_begins_program_sizes, n >= 0 && n <= E(L_ws_law_number));
    const int64_t *pointer = INTEGERS(it, L_tables_laws_begins_pointer), *slot = INTEGERS(it, L_tables_laws_begins_slot);
    int64_t ends[3] = {E(L_tables_laws_begins_constants), given, found};
    for (int64_t j = 0; j < 3; j++) {
        if (pointer[j] != 0 || pointer[3 * functions + j] != ends[j]) FAIL(L_tables_laws_begins_pointer);
        for (int64_t f = 0; f < functions; f++)
            if (pointer[3 * f + j] > pointer[3 * f + 3 + j]) FAIL(L_tables_laws_begins_pointer);
    }
    for (int64_t f = 0; f < functions; f++)
        if (slot[f] < 0 || slot[f] > slots - (pointer[3 * f + 3] - pointer[3 * f])) FAIL(L_tables_laws_begins_slot);
    WANT(L_tables_laws_begins_given, column(it, L_tables_laws_begins_given, 0, 0, slots - 1) &&
         column(it, L_tables_laws_begins_given, 1, 0, n + E(L_tables_laws_slot) - 1));
    WANT(L_tables_laws_begins_found, column(it, L_tables_laws_begins_found, 0, 0, slots - 1));
    const int64_t *block = INTEGERS(it, L_tables_laws_state_block), *place = INTEGERS(it, L_tables_laws_begins_found);
    int64_t outputs = E(L_ws_law_output), first = outputs - E(L_tables_laws_state_place);
    for (int64_t r = 0; r < E(L_tables_laws_state_block); r++, block += 11) {
        if (block[10] == 0) continue;
        const int64_t *own = pointer + 3 * (block[10] - 1) + 2; /* its rates, then its slopes */
        if (own[3] - own[0] < block[1]) FAIL(L_tables_laws_begins_pointer);
        for (int64_t i = own[0] + block[1]; i < own[3]; i++)
            if (place[2 * i + 1] < first || place[2 * i + 1] >= outputs) FAIL(L_tables_laws_begins_found);
    }
    return NULL;
}

enum { FIRST, WIDTH, REST, UPPER, LOWER, LIST, REMAINDER, STRIDE, PARENT, KEPT, SAME, STARTS, INHERITS, COLUMNS };

/* The front s: its rows, panels and list stand behind those of the fronts before, which `end` tells and goes on from. */
static const char *check_front(M it, const int64_t *all, int64_t count, int64_t s, int64_t *end, int64_t widest) {
    const int64_t *f = all + s * COLUMNS, *relative = INTEGERS(it, L_lu_relative), most = 1 << 24;
    int64_t total = it->words[W_lu_total], size = it->words[W_lu_size], remainder = it->words[W_lu_remainder_size];
    for (int c = 0; c < COLUMNS; c++) if (c != PARENT && (f[c] < 0 || f[c] > (int64_t)1 << 31)) FAIL(L_lu_fronts);
    if (f[WIDTH] < 1 || f[WIDTH] > most || f[REST] > most || f[STRIDE] > widest) FAIL(L_lu_fronts);
    if (f[FIRST] != end[FIRST] || f[UPPER] != end[UPPER] || f[LIST] != end[LIST]) FAIL(L_lu_fronts);
    if (f[LOWER] != f[UPPER] + f[WIDTH] * (f[WIDTH] + f[REST])) FAIL(L_lu_fronts);
    end[FIRST] += f[WIDTH], end[UPPER] = f[LOWER] + f[WIDTH] * f[REST], end[LIST] += f[REST];
    if (end[FIRST] > total || end[UPPER] > size || end[LIST] > E(L_lu_rest) || end[LIST] > E(L_lu_relative)) FAIL(L_lu_fronts);
    if (f[KEPT] > f[REST] || f[SAME] > f[KEPT] || f[INHERITS] > 1 || f[STARTS] > 1) FAIL(L_lu_fronts);
    if (f[REST] == 0) return NULL;
    int64_t square = f[REMAINDER] + f[STRIDE] * f[STRIDE];
    if (f[STRIDE] < f[REST] || square > remainder) FAIL(L_lu_fronts);
    if (end[REMAINDER] < square) end[REMAINDER] = square;
    if (f[PARENT] <= s || f[PARENT] >= count) FAIL(L_lu_fronts);
    const int64_t *p = all + f[PARENT] * COLUMNS;
    if (f[SAME] > p[REST]) FAIL(L_lu_fronts);
    for (int64_t i = 0; i < f[REST]; i++) {
        int64_t number = relative[f[LIST] + i];
        if (i < f[KEPT] ? number < p[WIDTH] || number >= p[WIDTH] + p[REST] : number < 0 || number >= p[WIDTH]) FAIL(L_lu_relative);
    }
    if (f[INHERITS] && p[REST] > 0 && (f[STRIDE] < p[REST] || f[REMAINDER] + (p[REST] - 1) * f[STRIDE] + p[REST] > remainder))
        FAIL(L_lu_fronts);
    return NULL;
}

/* True when an array holds every number below its length once; `seen` are zeros, and are again afterwards. */
static int is_permutation(M it, int leaf, double *seen) {
    const int64_t *x = INTEGERS(it, leaf);
    int64_t count = E(leaf), found = 0;
    for (int64_t i = 0; i < count; i++) if (seen[x[i]] == 0.0) seen[x[i]] = 1.0, found++;
    for (int64_t i = 0; i < count; i++) seen[x[i]] = 0.0;
    return found == count;
}

static const char *check_factor(M it, const sizes *s) {
    int64_t total = it->words[W_lu_total], n = it->words[W_lu_n], size = s->size, remainder = it->words[W_lu_remainder_size];
    int64_t fronts = E(L_lu_fronts), widest = 0, end[COLUMNS] = {0};
    WANT(L_lu_order, n == s->n && total >= n && total <= (int64_t)1 << 28 && remainder >= 0);
    SHAPE1(L_lu_order, total); RANGE(L_lu_order, 0, total - 1); RANGE(L_lu_rest, 0, total - 1);
    WANT(L_lu_fronts, EXTENT(it, L_lu_fronts, 1) == COLUMNS && fronts <= total);
    SHAPE1(L_lu_relative, E(L_lu_rest));
    SHAPE1(L_work_original, size); SHAPE1(L_work_factored, size); SHAPE1(L_work_remainder, remainder);
    SHAPE1(L_work_diagonal, total); SHAPE1(L_work_residual, total); SHAPE1(L_work_scale, total);
    SHAPE1(L_work_solution, total); SHAPE1(L_work_step, 1);
    const int64_t *all = INTEGERS(it, L_lu_fronts);
    for (int64_t f = 0; f < fronts; f++) if (all[f * COLUMNS + REST] > widest) widest = all[f * COLUMNS + REST];
    for (int64_t f = 0; f < fronts; f++) SUB(check_front(it, all, fronts, f, end, widest));
    WANT(L_lu_fronts, end[FIRST] == total && end[UPPER] == size && end[REMAINDER] == remainder);
    WANT(L_lu_rest, end[LIST] == E(L_lu_rest)); WANT(L_lu_pattern, E(L_lu_pattern) <= size);
    WANT(L_lu_order, is_permutation(it, L_lu_order, DOUBLES(it, L_work_solution)));
    return NULL;
}

static const char *check_settings(M it, const sizes *s) {
    int64_t n = s->n, m = s->m, iterations = it->words[W_settings_max_iterations];
    double h;
    memcpy(&h, &it->words[W_settings_h], sizeof h);
    WANT(L_settings_absolute, h > 0.0 && h < 1e100 && iterations >= 1 && iterations <= MAX_ITERATIONS);
    WANT(L_settings_absolute, it->words[W_settings_tries] >= 0 && it->words[W_settings_tries] <= MOST_TRIES);
    WANT(L_settings_absolute, it->words[W_settings_max_projections] >= 0 && it->words[W_settings_max_projections] <= MOST_PROJECTIONS);
    WANT(L_settings_absolute, it->words[W_settings_refactor] >= 0 && it->words[W_settings_refactor] <= 2);
    WANT(L_settings_absolute, it->words[W_settings_tangent_terms] >= 0 && it->words[W_settings_tangent_terms] <= 3);
    double penalty, size;
    memcpy(&penalty, &it->words[W_penalty], sizeof penalty);
    memcpy(&size, &it->words[W_signals_size], sizeof size);
    WANT(L_settings_absolute, penalty >= 0.0 && penalty < 1e100 && size > 0.0 && size < 1e100);
    WANT(L_settings_absolute, it->words[W_freedom] >= 0 && it->words[W_freedom] <= n);
    SHAPE1(L_settings_absolute, n); SHAPE1(L_settings_typical, n); SHAPE1(L_settings_pace, n);
    SHAPE1(L_settings_rotation, m); SHAPE1(L_settings_scale, m); SHAPE1(L_settings_mass, m); SHAPE1(L_settings_first, m);
    for (int64_t r = 0; r < m; r++) {
        if (((const unsigned char *)DATA(it, L_settings_rotation))[r] > 1) FAIL(L_settings_rotation);
        if (((const unsigned char *)DATA(it, L_settings_first))[r] > 1) FAIL(L_settings_first);
    }
    SHAPE1(L_tables_balance_component, n); RANGE(L_tables_balance_component, -1, n - 1);
    RANGE(L_tables_balance_first, 0, n - 1); SHAPE1(L_tables_balance_length, 1);
    WANT(L_tables_balance_first, E(L_tables_balance_first) <= n);
    return NULL;
}

static const char *check_scratch(M it, const sizes *s) {
    int64_t n = s->n, m = s->m, rows = n + 1 + s->g, entries = E(L_ws_Phi_z);
    static const int of_n[] = {L_ws_sine, L_ws_cosine, L_ws_tau, L_ws_increment, L_ws_z, L_ws_zd, L_ws_zdd, L_ws_residual,
        L_ws_dz, L_ws_predicted, L_ws_base, L_ws_way, L_ws_kinetic, L_ws_potential, L_ws_worked, L_ws_beyond,
        L_ws_exchange, L_ws_untold, L_ws_diagonal, L_ws_jump, L_ws_begun_zdd, L_seen_zdd, L_z, L_zd, L_zdd, L_ws_still};
    static const int of_m[] = {L_ws_Phi, L_ws_Phid, L_ws_Phidd, L_ws_impulse, L_ws_lam_base, L_ws_lam_way, L_ws_lam_here,
        L_ws_floor, L_ws_left, L_ws_begun_lam, L_seen_lam, L_lam, L_alpha};
    static const int of_n6[] = {L_ws_S, L_ws_momentum, L_ws_wrench, L_ws_Fc, L_ws_X, L_ws_psid};
    for (size_t k = 0; k < sizeof of_n / sizeof *of_n; k++) SHAPE1(of_n[k], n);
    for (size_t k = 0; k < sizeof of_m / sizeof *of_m; k++) SHAPE1(of_m[k], m);
    for (size_t k = 0; k < sizeof of_n6 / sizeof *of_n6; k++) SHAPE2(of_n6[k], n, 6);
    SHAPE3(L_ws_A, rows, 3, 3); SHAPE2(L_ws_r, rows, 3); SHAPE2(L_ws_V, rows, 6); SHAPE2(L_ws_acc, rows, 6);
    SHAPE2(L_ws_inertia, n, 10); SHAPE2(L_ws_Ic, n, 10); SHAPE2(L_ws_Bc, n, 12); SHAPE2(L_ws_Y, n, 3);
    int64_t turning = 0;
    for (int64_t i = 0; i < n; i++) turning |= INTEGERS(it, L_tables_dofs_reference)[i] >= 0;
    SHAPE2(L_ws_rate, turning ? n : 0, 6); SHAPE2(L_ws_G, s->mc, 6); SHAPE1(L_ws_Phi_z_factored, entries); SHAPE1(L_ws_stiff, 1);
    SHAPE3(L_R0, s->nr, 3, 3); SHAPE2(L_ws_begun_energy, n, 2); SHAPE2(L_energy, n, 2); SHAPE2(L_ws_no_energy, n, 2);
    SHAPE2(L_ws_found_energy, n, 2); SHAPE2(L_ws_answered, n, 2); SHAPE1(L_sd, s->ns); SHAPE1(L_seen_sd, s->ns); SHAPE1(L_target, s->nu); SHAPE1(L_begun_u, s->nu); WANT(L_u, s->nu >= 3);
    SHAPE2(L_next_z, 1, n); SHAPE2(L_next_zd, 1, n); SHAPE2(L_next_zdd, 1, n); SHAPE2(L_next_lam, 1, m);
    SHAPE3(L_next_R0, 1, s->nr, 3); WANT(L_next_R0, EXTENT(it, L_next_R0, 3) == 3); SHAPE3(L_next_energy, 1, n, 2);
    SHAPE2(L_next_s, 1, s->ns); SHAPE2(L_next_sd, 1, s->ns); SHAPE2(L_next_u, 1, s->nu); SHAPE2(L_stats, 1, STATS_SIZE);
    SHAPE1(L_clock, 2); SHAPE1(L_after, s->nu);
    return NULL;
}

static const char *check_outputs(M it, const sizes *s) {
    int64_t nb = s->nb, values = E(L_outputs_values), plans = E(L_outputs_plan), reactions = E(L_outputs_reactions);
    WANT(L_outputs_plan, EXTENT(it, L_outputs_plan, 1) == 4); SHAPE2(L_outputs_points, plans, 3);
    WANT(L_outputs_plan, column(it, L_outputs_plan, 0, 0, 3) && column(it, L_outputs_plan, 1, 0, 2) &&
         column(it, L_outputs_plan, 2, 0, s->n - 1));
    for (int64_t k = 0; k < plans; k++) {
        const int64_t *row = INTEGERS(it, L_outputs_plan) + 4 * k;
        static const int64_t numbers[] = {1, 3, 3, 4};
        if (row[3] < 0 || row[3] + numbers[row[0]] > values) FAIL(L_outputs_plan);
    }
    SHAPE2(L_outputs_reactions, reactions, 4); SHAPE1(L_outputs_signs, reactions); SHAPE2(L_outputs_ends, reactions, 3);
    WANT(L_outputs_reactions, column(it, L_outputs_reactions, 0, 0, nb + s->nl - 1) &&
         column(it, L_outputs_reactions, 1, -1, s->n - 1) && column(it, L_outputs_reactions, 2, -1 - s->g, -1) &&
         column(it, L_outputs_reactions, 3, 0, values - 6));
    WANT(L_outputs_picked, EXTENT(it, L_outputs_picked, 1) == 4);
    WANT(L_outputs_picked, column(it, L_outputs_picked, 3, 0, values - 1));
    const int64_t rows[] = {4, s->m, E(L_outputs_springs), E(L_outputs_given), E(L_outputs_bushings),
                            E(L_outputs_law_forces), s->nu, E(L_tables_joint_forces_dof), s->m, s->ns,
                            E(L_tables_laws_connector)};
    const int64_t columns[] = {1, 3, SPRING_NUMBERS, GIVEN_NUMBERS, BUSHING_NUMBERS, 1, 1, 1, 1, 1, 6};
    for (int64_t k = 0; k < E(L_outputs_picked); k++) {
        const int64_t *row = INTEGERS(it, L_outputs_picked) + 4 * k;
        if (row[0] < 0 || row[0] > 10 || row[1] < 0 || row[1] >= rows[row[0]] || row[2] < 0 || row[2] >= columns[row[0]])
            FAIL(L_outputs_picked);
    }
    WANT(L_outputs_values, values <= 4 * plans + 6 * reactions + E(L_outputs_picked));
    SHAPE1(L_outputs_energies, 3); SHAPE2(L_outputs_missed, 3, s->m); SHAPE2(L_outputs_wrenches, nb + s->nl, 6);
    SHAPE2(L_graph_center, nb, 3); SHAPE1(L_graph_mass, nb); SHAPE3(L_graph_inertia, nb, 3, 3); SHAPE1(L_graph_parent, nb);
    RANGE(L_graph_dof, -1 - s->g, s->n - 1); SHAPE1(L_graph_connector_a, s->nl); SHAPE1(L_graph_connector_b, s->nl);
    RANGE(L_graph_connector_a, -1, nb - 1); RANGE(L_graph_connector_b, -1, nb - 1);
    for (int64_t b = 0; b < nb; b++)
        if (INTEGERS(it, L_graph_parent)[b] < -1 || INTEGERS(it, L_graph_parent)[b] >= b) FAIL(L_graph_parent);
    return NULL;
}

/* Functions of time: values belong to functions, and jumps to functions. */
static const char *check_signals(M it, const sizes *s) {
    int64_t values = E(L_signals_slot), functions = E(L_signals_driver);
    const int64_t *pointer = INTEGERS(it, L_signals_pointer);
    RANGE(L_signals_slot, 0, s->nu - 1); SHAPE1(L_signals_value, values); SHAPE2(L_signals_around, SIGNAL_ROWS, values);
    SHAPE1(L_signals_instant, 1); SHAPE1(L_signals_watched, functions);
    RANGE(L_signals_driver, 0, 1); RANGE(L_signals_watched, 0, 1);
    SHAPE1(L_signals_pointer, functions + 1); POINTER(L_signals_pointer, values);
    SHAPE1(L_signals_jump_pointer, functions + 1); POINTER(L_signals_jump_pointer, E(L_signals_jump_time));
    for (int64_t k = 0; k < functions; k++)
        if (INTEGERS(it, L_signals_driver)[k] && pointer[k + 1] - pointer[k] != 3) FAIL(L_signals_driver);
    return check_program(it, L_signals_program_operation, L_signals_memory, values ? 1 : 0, E(L_signals_parameter), values);
}

const char *rtmbs_check_tables(const rtmbs_mechanism *it) {
    sizes s = {
        .n = E(L_tables_dofs_kind), .g = E(L_tables_origins_fixed), .m = E(L_lam), .mc = E(L_tables_closures_kind),
        .nc = E(L_tables_closures_connector), .nl = E(L_tables_connectors_a), .nr = E(L_R0), .nu = E(L_u), .ns = E(L_s),
        .size = it->words[W_lu_size], .depth = EXTENT(it, L_ws_path, 1), .nb = E(L_graph_dof),
    };
    WANT(L_lam, s.m >= s.mc);
    WANT(L_work_original, s.size >= 0 && s.size <= (int64_t)1 << 31);
    SUB(check_integers(it));
    SUB(check_dofs(it, &s)); SUB(check_paths(it, &s)); SUB(check_closures(it, &s)); SUB(check_condensed(it, &s)); SUB(check_contacts(it, &s)); SUB(check_conditions(it, &s));
    SUB(check_sets(it, &s));
    SUB(check_forces(it, &s)); SUB(check_laws(it, &s)); SUB(check_factor(it, &s)); SUB(check_settings(it, &s));
    SUB(check_scratch(it, &s)); SUB(check_outputs(it, &s));
    SUB(check_program(it, L_tables_conditions_program_operation, L_ws_pose_memory, E(L_ws_pose_input),
                      E(L_tables_conditions_slot), E(L_ws_pose_output)));
    SUB(check_program(it, L_tables_laws_program_operation, L_ws_law_memory, E(L_ws_law_number), E(L_tables_laws_slot),
                      E(L_ws_law_output)));
    SUB(check_memory(it, L_tables_conditions_program_operation, L_ws_pose_memory, E(L_ws_pose_input) + E(L_tables_conditions_slot)));
    SUB(check_memory(it, L_tables_laws_program_operation, L_ws_law_memory, E(L_ws_law_number) + E(L_tables_laws_slot)));
    SUB(check_memory(it, L_signals_program_operation, L_signals_memory, 1 + E(L_signals_parameter)));
    SUB(check_law_lanes(it)); SUB(check_law_rates(it)); SUB(check_law_begins(it));
    SUB(check_signals(it, &s));
    return NULL;
}
